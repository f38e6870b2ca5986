// What libselfnorm_torch exports: a function that makes energies and one that makes features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/embedded_code.h"
#include "model/energy/energy.h"
#include "model/network/feature_network.h"

namespace selfnorm {

// A new energy, or new features, of the module in `bytes`; throws Error, whose message starts with `name`.
using TorchFactory = Energy*(const char* bytes, size_t size, uint32_t dimension, const char* name);
using TorchFeaturesFactory = FeatureNetwork*(const char* bytes, size_t size, uint32_t inputs,
                                             const char* name);

// An exported function, to be called with these bytes: the only way to one, so nothing loads a module without
// consent. Loads libselfnorm_torch when it is not. Throws Error, whose message starts with `name`, without
// consent, or when it cannot be loaded or has no such function.
void* torch_symbol(const char* symbol, const std::string& name, std::string_view bytes, EmbeddedCode code);

}  // namespace selfnorm

// The numbers change whenever energy.h, feature_network.h or this file does, so that a module of another
// version is not called.
#define SELFNORM_TORCH_FACTORY selfnorm_torch_energy_3
#define SELFNORM_TORCH_FEATURES selfnorm_torch_features_3
#define SELFNORM_TEXT_OF(symbol) #symbol
#define SELFNORM_TEXT(symbol) SELFNORM_TEXT_OF(symbol)
