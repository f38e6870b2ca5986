#include "regressor_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "model_header.h"
#include "selfnorm/base/error.h"

namespace selfnorm::cli {

bool is_regressor(const std::string& model) { return is_regressor_file(finished_model_path(model)); }

NamedRegressor open_regressor(const std::string& model, EmbeddedCode code) {
  const std::string path = finished_model_path(model);
  if (std::filesystem::is_regular_file(path) && !is_regressor_file(path))
    throw Error(fmt::format("{} is not a regressor; expected a model of 'selfnorm train regressor'", path));
  return {path, load_regressor(path, code)};
}

void refuse_regressor(const std::string& model, const std::string& advice) {
  if (is_regressor(model)) throw Error(fmt::format("{} is a regressor; {}", model, advice));
}

}  // namespace selfnorm::cli
