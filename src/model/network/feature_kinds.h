// The kinds of features, each from its record (model/network/feature_network.h).
#pragma once

#include <memory>
#include <vector>

#include "model/network/feature_network.h"

namespace selfnorm {

std::unique_ptr<FeatureNetwork> make_dense_features(const EnergyRecord& record);
std::unique_ptr<FeatureNetwork> make_linear_features(uint32_t inputs, std::vector<uint32_t> levels);
std::unique_ptr<FeatureNetwork> make_linear_features(const EnergyRecord& record);
std::unique_ptr<FeatureNetwork> make_module_features(const EnergyRecord& record, EmbeddedCode code);

}  // namespace selfnorm
