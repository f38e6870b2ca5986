// b of a density against estimates of its log Z.
#pragma once

#include "document/document.h"
#include "family/density/density_evaluation.h"

namespace selfnorm {

// Whether its log Z is trusted; rows outside the support take the trust from the likelihood alone.
bool is_log_z_trusted(const DensityModel& model, const DensityEvaluation& evaluation);

// `normalizer_estimates`: the log Z of the evaluation; where it is another, importance sampling from the
// proposal; annealing, where it applies and takes a second or two. A method that fails or is left out is
// named in the sentence, with why.
ReportFigure normalizer_figure(const DensityModel& model, const DensityEvaluation& evaluation, uint64_t seed);

}  // namespace selfnorm
