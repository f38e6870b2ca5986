// What the bits of sums and products depend on besides the data: the kernels that were chosen for this
// processor.
#pragma once

#include <string>

namespace selfnorm {

std::string processor_kernels();

}  // namespace selfnorm
