// Any TorchScript module as an energy: it maps n x d float32 to n or n x 1 scores s(x) = -E(x), each row's
// score depending on that row alone. Its float parameters that require gradients are theta; the others, and
// buffers, are constants. Modules are evaluated (eval()), never put into training mode.
//
// libtorch is not linked: the shared module libselfnorm_torch (src/model/neural) is loaded when the first
// energy is, from SELFNORM_TORCH_MODULE (a path) when that is set, or else the directory of the program, the
// library directory beside it, the one of the installation, and the system's search path. Rows are cut into
// blocks of fixed size, one thread each, so bits do not depend on the number of threads; at::set_num_threads
// becomes 1 and the optimiser of graphs, which changes them after some calls, is off for the whole process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/energy/energy.h"
#include "model/network/feature_network.h"

namespace selfnorm {

// Whether this selfnorm was built with libtorch; if not, both below throw Error and say what to install.
bool has_torchscript();

// Throws Error naming the file when `code` is not run, when libtorch or the shared module is missing, when
// the file is no TorchScript module, has no parameters or does not map n x `dimension` to scores.
std::unique_ptr<Energy> load_torchscript(const std::string& path, uint32_t dimension,
                                         EmbeddedCode code = EmbeddedCode::refuse);

// From its record: kind "torchscript", settings {"dimension": d}, the bytes of the module.
std::unique_ptr<Energy> make_torchscript(const EnergyRecord& record,
                                         EmbeddedCode code = EmbeddedCode::refuse);

// What libselfnorm_torch exports: functions that make energies and features of the module in `bytes`; they
// throw Error, whose message starts with `name`.
using TorchFactory = Energy*(const char* bytes, size_t size, uint32_t dimension, const char* name);
using TorchFeaturesFactory = FeatureNetwork*(const char* bytes, size_t size, uint32_t inputs,
                                             const char* name);

// An exported function, to be called with these bytes: the only way to one, so nothing loads a module without
// consent. Loads libselfnorm_torch when it is not. Throws Error, whose message starts with `name`, without
// consent, or when it cannot be loaded or has no such function.
void* torch_symbol(const char* symbol, const std::string& name, std::string_view bytes, EmbeddedCode code);

}  // namespace selfnorm

// The numbers change with energy.h, feature_network.h and this file: no module of another version is called.
#define SELFNORM_TORCH_FACTORY selfnorm_torch_energy_3
#define SELFNORM_TORCH_FEATURES selfnorm_torch_features_3
#define SELFNORM_TEXT_OF(symbol) #symbol
#define SELFNORM_TEXT(symbol) SELFNORM_TEXT_OF(symbol)
