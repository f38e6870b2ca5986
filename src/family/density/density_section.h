// What is shown of a density on data: cards, and the section "Density" with the density beside data and
// samples (report/density_figure.h, report/density_samples.h) and b against estimates of log Z.
#pragma once

#include <string>

#include "document/document.h"
#include "document/section/rows_part.h"
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

}  // namespace selfnorm
