// A line with fewer points that looks the same: of every bucket of consecutive points the lowest, the highest
// and the first interruption stay, and so do the first and the last point of all.
#pragma once

#include <cstddef>

#include "document/figure.h"

namespace selfnorm {

inline constexpr size_t kMostPoints = 2000;

// As it is with at most `most` points, most >= 8; otherwise no more than that, in their order, with their
// errors, ends and labels.
Series thinned(Series series, size_t most = kMostPoints);

}  // namespace selfnorm
