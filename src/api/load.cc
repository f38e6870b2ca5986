#include "selfnorm/load.h"

#include "api/rows.h"
#include "model/stored_record.h"

namespace selfnorm {

LoadedModel load(const std::string& path) {
  const FileIdentity is = identity_of(model_file_of(path));
  if (is.family == "chain") return Crf::load(path);
  if (is.family == "regressor") return EnergyRegressor::load(path);
  if (is.family == "density") return EnergyDensity::load(path);
  if (is.input == "context") return LanguageModel::load(path);
  return Classifier::load(path);
}

}  // namespace selfnorm
