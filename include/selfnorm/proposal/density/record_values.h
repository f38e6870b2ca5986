// The numbers of a DensityRecord, checked.
#pragma once

#include "selfnorm/proposal/density/density.h"

namespace selfnorm {

// Throws Error naming the density and the numbers when they are missing, not finite, or not `size` (0: at
// least one).
const std::vector<double>& record_values(const DensityRecord& record, const std::string& name, size_t size);

}  // namespace selfnorm
