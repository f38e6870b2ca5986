// Pictures of a regressor on data: an SVG file each, with a CSV file of the same numbers beside it and the
// gnuplot program that drew it.
#pragma once

#include <string>
#include <vector>

#include "family/regressor/regression_pictures.h"

namespace selfnorm::cli {

// Throws Error unless `feature` is a numeric column of the model with two values or more.
void check_feature(const Regressor& model, const Frame& frame, const std::string& feature);

// Where pictures go and along which column, that passes check_feature, or none.
struct DrawingPlan {
  std::string folder, feature;
  bool quiet = false;
};
// pit, coverage, normalizer (b against A), fan (quantiles of rows in the order of their median) and, with a
// feature, what report/regression_profile.h has. The paths of the files (write_pictures).
std::vector<std::string> draw_regressor(const ShownRows& rows, const RegressionEvaluation& evaluation,
                                        const DrawingPlan& plan);

}  // namespace selfnorm::cli
