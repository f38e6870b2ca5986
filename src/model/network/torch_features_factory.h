// The function of libselfnorm_torch that makes features (model/energy/torchscript_factory.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/network/feature_network.h"

namespace selfnorm {

// New features of the module in `bytes`; throws Error, whose message starts with `name`.
using TorchFeaturesFactory = FeatureNetwork*(const char* bytes, size_t size, uint32_t inputs,
                                             const char* name);

}  // namespace selfnorm

// The number changes whenever feature_network.h or this file does.
#define SELFNORM_TORCH_FEATURES selfnorm_torch_features_2
