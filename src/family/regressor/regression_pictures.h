// Pictures of a regressor on data; all are of the first target.
#pragma once

#include <span>

#include "document/picture.h"
#include "family/regressor/normalizer_audit.h"

namespace selfnorm {

// Rows of data, as they were read and as the model takes them.
struct ShownRows {
  const Regressor& model;
  const Frame& frame;
  const EncodedFrame& inputs;
  std::span<const double> target;  // rows x targets in the units of the data; empty: none are there
};

// F(y|x) of the targets as a histogram, 1 on average, which is flat for calibrated predictions.
Picture pit_picture(const RegressionEvaluation& evaluation);
// Shares of the targets inside intervals of every level. Central ones from the distribution function at the
// targets: inside where |2 F - 1| <= level.
Picture coverage_picture(const RegressionEvaluation& evaluation);

// b(x) against A(x) of some rows.
struct NormalizerPairs {
  std::vector<uint64_t> row;
  std::vector<double> a, b;
  double rms = 0;        // of b - A over all rows, those that are not shown included
  uint64_t members = 1;  // of which the first is shown
};
NormalizerPairs evaluated_pairs(const RegressionEvaluation& evaluation);  // the worst inputs among them
// Of inputs without targets, which `rows` are all of.
NormalizerPairs audited_pairs(const ShownRows& rows, const NormalizerAudit& audit);
Picture normalizer_picture(const NormalizerPairs& pairs);

// Predictions for pictures, whose integrals need few digits; nothing is asked for yet.
PredictionOptions picture_options(const Regressor& model);
// Predictive distributions of some rows in the order of their median.
Picture fan_picture(const ShownRows& rows);

}  // namespace selfnorm
