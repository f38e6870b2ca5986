// What is shown of a density on data: cards, and the section "Density" with the density beside data and
// samples (density_figure.h) and b against estimates of log Z.
#pragma once

#include <string>

#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/density/density_evaluation.h"

namespace selfnorm {

struct ShownDensity {
  const DensityModel& model;
  const PointSource& points;
  const DensityEvaluation& evaluation;  // on these points
  std::string data;                     // what they are
  RowsPart part = RowsPart::kNone;
  uint64_t seed = 0;
};

// Takes seconds at most, and the same numbers come for any number of threads. A figure that cannot be had is
// a note that says why.
void add_density(const ShownDensity& shown, ReportDocument& document);

// b of a density against estimates of its log Z.

// Whether its log Z is trusted; rows outside the support take the trust from the likelihood alone.
bool is_log_z_trusted(const DensityModel& model, const DensityEvaluation& evaluation);

// `normalizer_estimates`: the log Z of the evaluation; where it is another, importance sampling from the
// proposal; annealing, where it applies and takes a second or two. A method that fails or is left out is
// named in the sentence, with why.
ReportFigure normalizer_figure(const DensityModel& model, const DensityEvaluation& evaluation, uint64_t seed);

}  // namespace selfnorm
