#include "mlp_spectral.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/math/kernels.h"

namespace selfnorm {
namespace {

constexpr double kSmallest = 1e-12;  // in the place of the norm of a zero matrix

bool normalise(std::vector<float>& x) {
  const double norm = std::sqrt(dot(x.data(), x.data(), x.size()));
  if (!std::isfinite(norm) || norm < kSmallest) return false;
  scale(static_cast<float>(1 / norm), x.data(), x.size());
  return true;
}

std::vector<float> product(std::span<const float> w, const std::vector<float>& v, size_t rows) {
  std::vector<float> out(rows);
  for (size_t i = 0; i < rows; ++i)
    out[i] = static_cast<float>(dot(w.data() + i * v.size(), v.data(), v.size()));
  return out;
}

}  // namespace

void SpectralNorm::iterate(std::span<const float> w) {
  std::vector<float> left(v.size());
  for (size_t i = 0; i < u.size(); ++i) add_scaled(u[i], w.data() + i * v.size(), left.data(), v.size());
  if (normalise(left)) {
    std::vector<float> right = product(w, left, u.size());
    if (normalise(right)) {
      v = std::move(left);
      u = std::move(right);
    }
  }
  measure(w);
}

void SpectralNorm::measure(std::span<const float> w) {
  const std::vector<float> image = product(w, v, u.size());
  sigma = dot(u.data(), image.data(), u.size());
  if (!(sigma >= kSmallest)) sigma = kSmallest;
}

void SpectralNorm::add_gradient(std::span<const float> w, std::span<const float> g,
                                std::span<float> total) const {
  const float factor = static_cast<float>(1 / sigma);
  const float along = static_cast<float>(-dot(w.data(), g.data(), w.size()) / (sigma * sigma));
  for (size_t i = 0; i < u.size(); ++i) {
    float* row = total.data() + i * v.size();
    add_scaled(factor, g.data() + i * v.size(), row, v.size());
    add_scaled(along * u[i], v.data(), row, v.size());
  }
}

}  // namespace selfnorm
