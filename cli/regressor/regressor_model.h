// MODEL where it may be a regressor.
#pragma once

#include <string>

#include "model/regressor/regressor.h"

namespace selfnorm::cli {

struct NamedRegressor {
  std::string path;  // of the file itself
  Regressor model;
};
// Of a model of this family; throws Error for what is none.
NamedRegressor open_regressor(const std::string& model, EmbeddedCode code);

}  // namespace selfnorm::cli
