// The energy of a TorchScript module (model/energy/torchscript.h), its derivatives by autograd.
#pragma once

#include <memory>

#include "model/energy/energy.h"
#include "model/neural/torch_module.h"

namespace selfnorm {

std::unique_ptr<Energy> make_torch_energy(TorchModule module);

}  // namespace selfnorm
