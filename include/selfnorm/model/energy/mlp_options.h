// The shape of a network energy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm {

struct MlpOptions {
  std::vector<uint32_t> widths = {128, 128};  // of the hidden layers; 1..16 of them, each 1..4096
  std::string activation = "silu";            // silu | relu | tanh | softplus | gelu
  bool residual = false;                      // a + f(W a + c) between hidden layers of equal width
  bool spectral_norm = false;  // every W_l is divided by its largest singular value; B and w are free
  uint32_t fourier = 0;        // F learned Fourier features: the input becomes (x, cos Bx, sin Bx); 0..4096
  double fourier_scale = 3.0;  // B starts with entries N(0, scale^2); > 0

  void validate() const;  // throws Error naming the option, the value and the range
};

}  // namespace selfnorm
