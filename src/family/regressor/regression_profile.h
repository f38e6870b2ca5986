// A regressor along one column, the others at their median or most frequent level.
#pragma once

#include <string>
#include <vector>

#include "family/regressor/regression_pictures.h"

namespace selfnorm {

// heat (the density), profile (quantiles) and, with targets, points (the data beside them). `feature` is a
// numeric column of the model with two values or more.
std::vector<Picture> feature_pictures(const ShownRows& rows, const std::string& feature);

// The numeric column along which the predicted median goes farthest while it goes through the central 90% of
// its values; empty: there is none. Of many columns some, evenly spread, are tried.
std::string telling_feature(const ShownRows& rows);

}  // namespace selfnorm
