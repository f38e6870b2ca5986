// Pictures of a regressor on data, all of the first target, and the sections of a report that have them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "document/document.h"
#include "document/figure.h"
#include "document/picture.h"
#include "document/section/audit_section.h"
#include "family/regressor/regression_evaluation.h"

namespace selfnorm {

// Bands between quantiles of predictions along x, the median and the targets.
struct Fan {
  std::vector<double> x;
  std::vector<std::vector<double>> quantiles;        // of levels() for every x
  std::vector<double> target_x = {}, target_y = {};  // empty: none

  static const std::vector<double>& levels();
};
Panel fan_panel(const Fan& fan, const std::string& x_label, const std::string& y_label);

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

// A regressor along one column, the others at their median or most frequent level.

// heat (the density), profile (quantiles) and, with targets, points (the data beside them). `feature` is a
// numeric column of the model with two values or more.
std::vector<Picture> feature_pictures(const ShownRows& rows, const std::string& feature);

// The numeric column along which the predicted median goes farthest while it goes through the central 90% of
// its values; empty: there is none. Of many columns some, evenly spread, are tried.
std::string telling_feature(const ShownRows& rows);

// What is shown of a regressor on data: cards; the sections "Predictions" (fan; heat and profile along the
// column that tells most), "Calibration" (pit, coverage) and "Normalisation" (errors of log-densities with
// b(x); b against A).

struct RegressionNames {
  std::string data;  // what the rows are
  RowsPart part = RowsPart::kNone;
  std::vector<uint64_t> places = {};  // of the rows evaluated in their file; empty: 0, 1, ...
};

// `rows` are those evaluated, or some of them. A picture that cannot be had is a note that says why.
void add_regression(const ShownRows& rows, const RegressionEvaluation& evaluation,
                    const RegressionNames& names, ReportDocument& document);

// Of inputs without targets; `rows` are those audited.
void add_regression_inputs(const ShownRows& rows, const NormalizerAudit& audit, const RegressionNames& names,
                           ReportDocument& document);

}  // namespace selfnorm
