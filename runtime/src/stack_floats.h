// Arrays of states on the stack, in a frame of about the size that is needed: no call after open allocates.
#pragma once

#include <cstddef>

#include "selfnorm/runtime/model_layout.h"

namespace selfnorm::runtime {

template <size_t N, class Use>
__attribute__((noinline)) auto with_array(const Use& use) {
  alignas(64) float buffer[N];
  return use(static_cast<float*>(buffer));
}

// use(buffer) with n floats; n is at most kWidestLayer * kMostPositions, the largest state of a model.
template <class Use>
auto with_floats(size_t n, const Use& use) {
  if (n <= kWidestLayer / 4) return with_array<kWidestLayer / 4>(use);
  if (n <= kWidestLayer) return with_array<kWidestLayer>(use);
  return with_array<size_t{kWidestLayer} * kMostPositions>(use);
}

}  // namespace selfnorm::runtime
