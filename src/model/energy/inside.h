// Whether data can have a likelihood at all.
#pragma once

#include "model/energy/energy.h"

namespace selfnorm {

// Throws Error naming the first row outside the energy's support, its values and what was expected; row i has
// the number numbers[i], or first + i when there are none.
void require_inside(const Energy& energy, const Points& x, std::span<const uint64_t> numbers,
                    uint64_t first = 0);

}  // namespace selfnorm
