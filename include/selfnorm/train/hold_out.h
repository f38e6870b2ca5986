// Which examples are held out for validation.
#pragma once

#include <cstdint>
#include <vector>

namespace selfnorm {

struct HeldOut {
  std::vector<uint64_t> train, valid;  // in increasing order
};

// A random `fraction` of n examples (at least 1, at most half) for validation. Throws Error for fewer than
// two examples and fractions outside (0, 1).
HeldOut hold_out(uint64_t n, double fraction, uint64_t seed);

}  // namespace selfnorm
