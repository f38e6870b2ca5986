// The features of a TorchScript module (model/network/feature_network.h), their derivatives by autograd.
#pragma once

#include <memory>

#include "model/network/feature_network.h"
#include "model/neural/torch_module.h"

namespace selfnorm {

std::unique_ptr<FeatureNetwork> make_torch_features(TorchModule module);

}  // namespace selfnorm
