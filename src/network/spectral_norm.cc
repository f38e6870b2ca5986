#include "network/spectral_norm.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr double kSmallest = 1e-12;  // in the place of the norm of a zero matrix
constexpr double kStill = 1e-13;     // |u - u before|^2

// |x|, and x <- x / |x|.
double normalise(std::vector<float>& x) {
  const double norm = std::sqrt(dot(x.data(), x.data(), x.size()));
  scale(static_cast<float>(1 / std::max(norm, kSmallest)), x.data(), x.size());
  return norm;
}

double square_distance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

void SpectralNorm::measure(std::span<const float> w) {
  RandomStream random(0, u_.size());
  for (float& u : u_) u = static_cast<float>(random.normal());
  std::vector<float> before;
  double norm = 0;
  for (int i = 0; i < kMostIterations; ++i) {
    before = u_;
    std::fill(v_.begin(), v_.end(), 0.0f);
    for (size_t o = 0; o < u_.size(); ++o) add_scaled(u_[o], w.data() + o * v_.size(), v_.data(), v_.size());
    normalise(v_);
    for (size_t o = 0; o < u_.size(); ++o)
      u_[o] = static_cast<float>(dot(w.data() + o * v_.size(), v_.data(), v_.size()));
    norm = normalise(u_);
    if (square_distance(u_, before) < kStill) break;
  }
  sigma_ = std::max(norm, kSmallest);
}

void SpectralNorm::add_gradient(std::span<const float> w, std::span<const float> g,
                                std::span<float> total) const {
  const float factor = static_cast<float>(1 / sigma_);
  const float along = static_cast<float>(-dot(w.data(), g.data(), w.size()) / (sigma_ * sigma_));
  for (size_t o = 0; o < u_.size(); ++o) {
    float* row = total.data() + o * v_.size();
    add_scaled(factor, g.data() + o * v_.size(), row, v_.size());
    add_scaled(along * u_[o], v_.data(), row, v_.size());
  }
}

}  // namespace selfnorm
