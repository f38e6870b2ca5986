// sigma = u . W v, the largest singular value of W (out x in) by power iteration: v <- W'u / |W'u|,
// u <- Wv / |Wv|. With G the gradient by W / sigma, u and v constants [Miyato et al. 2018]:
//     dW = (G - <G, W / sigma> u v') / sigma.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace selfnorm {

struct SpectralNorm {
  std::vector<float> u, v;
  double sigma = 1;

  // One iteration; u and v stay where the new ones would not be finite.
  void iterate(std::span<const float> w);
  // sigma from u and v as they are.
  void measure(std::span<const float> w);
  // total += dW.
  void add_gradient(std::span<const float> w, std::span<const float> g, std::span<float> total) const;
};

}  // namespace selfnorm
