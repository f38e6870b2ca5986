// sigma = u . W v, the largest singular value of W (out x in) by power iteration from a fixed start, so that
// it is a function of W alone: v <- W'u / |W'u|, u <- Wv / |Wv| until u stands still or kMostIterations. With
// G the gradient by W / sigma, u and v constants [Miyato et al. 2018]:
//     dW = (G - <G, W / sigma> u v') / sigma.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace selfnorm {

class SpectralNorm {
 public:
  SpectralNorm(size_t out, size_t in) : u_(out), v_(in) {}

  double sigma() const { return sigma_; }
  void measure(std::span<const float> w);
  // total += dW.
  void add_gradient(std::span<const float> w, std::span<const float> g, std::span<float> total) const;

 private:
  static constexpr int kMostIterations = 1000;

  std::vector<float> u_, v_;
  double sigma_ = 1;
};

}  // namespace selfnorm
