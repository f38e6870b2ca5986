// MODEL where it may be a regressor.
#pragma once

#include <string>

#include "selfnorm/model/regressor/regressor.h"

namespace selfnorm::cli {

// Whether MODEL, a file or run directory, is a regressor. Throws Error for a run that is not finished.
bool is_regressor(const std::string& model);

struct NamedRegressor {
  std::string path;  // of the file itself
  Regressor model;
};
// Throws Error for any other model.
NamedRegressor open_regressor(const std::string& model, EmbeddedCode code);

// Throws Error with the advice when MODEL is a regressor, for the commands that take none.
void refuse_regressor(const std::string& model, const std::string& advice);

}  // namespace selfnorm::cli
