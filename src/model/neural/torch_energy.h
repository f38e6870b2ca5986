// The energy of a TorchScript module (model/energy/torchscript.h), its derivatives by autograd.
#pragma once

#include <memory>

#include "selfnorm/model/energy/energy.h"
#include "torch_module.h"

namespace selfnorm {

std::unique_ptr<Energy> make_torch_energy(TorchModule module);

}  // namespace selfnorm
