// Pictures of a regressor on data: an SVG file each, with a CSV file of the same numbers beside it and the
// gnuplot program that drew it.
#pragma once

#include <string>
#include <vector>

#include "regressor_data.h"
#include "selfnorm/analysis/regression_evaluation.h"

namespace selfnorm::cli {

// All are of the first target.
struct DrawnRegressor {
  const Regressor& model;
  const Frame& frame;
  const RegressionRows& rows;
  const RegressionEvaluation& evaluation;
};

// pit, coverage, normalizer (b against A), fan (quantiles of rows in the order of their median) and, with a
// feature, what regressor_profile.h has. The paths of the files (write_pictures).
std::vector<std::string> draw_regressor(const DrawnRegressor& drawn, const std::string& folder,
                                        const std::string& feature, bool quiet);

}  // namespace selfnorm::cli
