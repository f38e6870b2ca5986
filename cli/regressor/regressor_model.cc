#include "regressor/regressor_model.h"

#include "classifier/model_header.h"

namespace selfnorm::cli {

NamedRegressor open_regressor(const std::string& model, EmbeddedCode code) {
  const std::string path = finished_model_path(model);
  return {path, load_regressor(path, code)};
}

}  // namespace selfnorm::cli
