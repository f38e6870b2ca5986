// How many components a Gaussian mixture deserves: 1, 2, 4, ... are fitted to four fifths of (a sample of)
// the rows and judged by the likelihood of the rest; twice without a gain ends it.
#pragma once

#include "selfnorm/proposal/density/make_density.h"

namespace selfnorm {

inline constexpr uint32_t kMostComponents = 32;

uint32_t choose_components(const Points& data, const FitOptions& options);

}  // namespace selfnorm
