// Any model file, or the run directory it is in, as what it is.
#pragma once

#include <string>
#include <variant>

#include "selfnorm/classifier.h"
#include "selfnorm/crf.h"
#include "selfnorm/density.h"
#include "selfnorm/language_model.h"
#include "selfnorm/regressor.h"

namespace selfnorm {

using LoadedModel = std::variant<Classifier, LanguageModel, EnergyDensity, EnergyRegressor, Crf>;
LoadedModel load(const std::string& path);  // throws Error

}  // namespace selfnorm
