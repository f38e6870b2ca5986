// A network energy. With a_0 = x, or (x, cos Bx, sin Bx), and f the activation,
//     z_l = W_l a_{l-1} + c_l,   a_l = f(z_l)   (residual, l > 1, equal widths: a_{l-1} + f(z_l)),
//     s(x) = w . a_L,
// without a last bias, which would alias log Z. theta holds B (F x d), then W_l (row-major, out x in) and c_l
// of every layer, then w. Inputs are standardised by the caller (model/energy/density_file.h).
//
// Start: W_l ~ N(0, 2 / in), biases 0, w ~ N(0, 0.01 / in), B ~ N(0, fourier_scale^2). With spectral_norm
// W_l stands for W_l / sigma_l, sigma_l = u . W_l v by power iteration from a fixed start at every
// parameters_changed(): a function of theta alone, so copies of theta are all a checkpoint needs. u and v are
// constants of the gradient [Miyato et al. 2018].
// gelu is the exact one (math/activation.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/energy/energy.h"

namespace selfnorm {

// The shape of a network energy.
struct MlpOptions {
  std::vector<uint32_t> widths = {128, 128};  // of the hidden layers; 1..16 of them, each 1..4096
  std::string activation = "silu";            // silu | relu | tanh | softplus | gelu
  bool residual = false;                      // a + f(W a + c) between hidden layers of equal width
  bool spectral_norm = false;  // every W_l is divided by its largest singular value; B and w are free
  uint32_t fourier = 0;        // F learned Fourier features: the input becomes (x, cos Bx, sin Bx); 0..4096
  double fourier_scale = 3.0;  // B starts with entries N(0, scale^2); > 0

  void validate() const;  // throws Error naming the option, the value and the range
};

std::unique_ptr<Energy> make_mlp(uint32_t dimension, const MlpOptions& options, uint64_t seed);
std::unique_ptr<Energy> make_mlp(const EnergyRecord& record);

}  // namespace selfnorm
