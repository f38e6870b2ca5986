// Standard normal numbers in bulk: both of Box and Muller's pair, sqrt(-2 log u) (cos 2 pi v, sin 2 pi v),
// compiled for several instruction sets (math/kernels.h).
#pragma once

#include <span>

#include "math/random.h"

namespace selfnorm {

void fill_normals(RandomStream& random, std::span<double> out);

}  // namespace selfnorm
