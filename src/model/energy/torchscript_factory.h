// What libselfnorm_torch exports: this and the function of model/network/torch_features_factory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/embedded_code.h"
#include "model/energy/energy.h"

namespace selfnorm {

// A new energy of the module in `bytes`; throws Error, whose message starts with `name`.
using TorchFactory = Energy*(const char* bytes, size_t size, uint32_t dimension, const char* name);

// An exported function, to be called with these bytes: the only way to one, so nothing loads a module without
// consent. Loads libselfnorm_torch when it is not. Throws Error, whose message starts with `name`, without
// consent, or when it cannot be loaded or has no such function.
void* torch_symbol(const char* symbol, const std::string& name, std::string_view bytes, EmbeddedCode code);

}  // namespace selfnorm

// The number changes whenever energy.h or this file does, so that a module of another version is not called.
#define SELFNORM_TORCH_FACTORY selfnorm_torch_energy_2
#define SELFNORM_TEXT_OF(symbol) #symbol
#define SELFNORM_TEXT(symbol) SELFNORM_TEXT_OF(symbol)
