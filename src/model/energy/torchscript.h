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

#include <memory>
#include <string>

#include "model/embedded_code.h"
#include "model/energy/energy.h"

namespace selfnorm {

// Whether this selfnorm was built with libtorch; if not, both below throw Error and say what to install.
bool has_torchscript();

// Throws Error naming the file when `code` is not run, when libtorch or the shared module is missing, when
// the file is no TorchScript module, has no parameters, does not take n x `dimension`, or its scores have
// another shape or are NaN.
std::unique_ptr<Energy> load_torchscript(const std::string& path, uint32_t dimension,
                                         EmbeddedCode code = EmbeddedCode::refuse);

// From its record: kind "torchscript", settings {"dimension": d}, the bytes of the module.
std::unique_ptr<Energy> make_torchscript(const EnergyRecord& record,
                                         EmbeddedCode code = EmbeddedCode::refuse);

}  // namespace selfnorm
