#include "regressor/regressor_pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "family/regressor/regression_profile.h"
#include "run/picture.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {

void check_feature(const Regressor& model, const Frame& frame, const std::string& feature) {
  const std::vector<std::string> columns = model.encoder.columns();
  if (std::find(columns.begin(), columns.end(), feature) == columns.end())
    throw Error(fmt::format("--feature {}: the model has no such column; its columns are {}", feature,
                            runtime::shortened(fmt::format("{}", fmt::join(columns, ", ")))));
  const FrameColumn& column = *frame.find(feature);
  if (!column.is_numeric)
    throw Error(fmt::format("--feature {}: the column is categorical, expected numbers", feature));
  const std::vector<double> sorted = sorted_numbers(column.number);
  if (sorted.empty() || sorted.front() == sorted.back())
    throw Error(fmt::format("--feature {}: found fewer than two values in {}", feature, frame.file));
}

std::vector<std::string> draw_regressor(const ShownRows& rows, const RegressionEvaluation& evaluation,
                                        const DrawingPlan& plan) {
  std::vector<Picture> pictures{pit_picture(evaluation), coverage_picture(evaluation),
                                normalizer_picture(evaluated_pairs(evaluation)), fan_picture(rows)};
  if (!plan.feature.empty())
    for (Picture& picture : feature_pictures(rows, plan.feature)) pictures.push_back(std::move(picture));
  return write_pictures(pictures, plan.folder, "--draw", plan.quiet);
}

}  // namespace selfnorm::cli
