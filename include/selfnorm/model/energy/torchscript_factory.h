// The one function that libselfnorm_torch exports.
#pragma once

#include <cstddef>
#include <cstdint>

#include "selfnorm/model/energy/energy.h"

namespace selfnorm {

// A new energy of the module in `bytes`; throws Error, whose message starts with `name`.
using TorchFactory = Energy*(const char* bytes, size_t size, uint32_t dimension, const char* name);

}  // namespace selfnorm

// The number changes whenever energy.h or this file does, so that a module of another version is not called.
#define SELFNORM_TORCH_FACTORY selfnorm_torch_energy_1
