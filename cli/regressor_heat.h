// The density of a regressor along one column.
#pragma once

#include <string>
#include <vector>

#include "regressor_pictures.h"
#include "selfnorm/reproduce/record.h"

namespace selfnorm::cli {

// NAME.svg and NAME.csv.
struct Picture {
  std::string name;
  Table data;
  Figure figure = {};
};

// Throws Error unless `feature` is a numeric column of the model with two values or more.
void check_feature(const Regressor& model, const Frame& frame, const std::string& feature);

// `feature` passes check_feature.
Picture heat_picture(const DrawnRegressor& drawn, const std::string& feature);

// At most `most` rows, evenly spread.
std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most);
// To five digits, so that files are small.
double shortened(double value);

}  // namespace selfnorm::cli
