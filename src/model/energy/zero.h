// s(x) = 0: tilting a base with it gives the base. What a density fitted without an energy is stored as.
#pragma once

#include "model/energy/energy.h"

namespace selfnorm {

std::unique_ptr<Energy> make_zero_energy(uint32_t dimension);
std::unique_ptr<Energy> make_zero_energy(const EnergyRecord& record);  // throws Error when it is damaged

}  // namespace selfnorm
