// A regressor along one column, the others held.
#pragma once

#include <string>
#include <vector>

#include "picture.h"
#include "regressor_pictures.h"

namespace selfnorm::cli {

// Throws Error unless `feature` is a numeric column of the model with two values or more.
void check_feature(const Regressor& model, const Frame& frame, const std::string& feature);

// heat (the density), profile (quantiles) and points (the data beside them); `feature` passes check_feature.
// The other columns are at their median or most frequent level.
std::vector<Picture> feature_pictures(const DrawnRegressor& drawn, const std::string& feature);

}  // namespace selfnorm::cli
