#include "data/points/points.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace selfnorm {

std::vector<float> Points::take(std::span<const uint64_t> chosen) const {
  std::vector<float> out;
  for (const uint64_t i : chosen) out.insert(out.end(), row(i).begin(), row(i).end());
  return out;
}

Support Support::angles(std::vector<bool> is_angle) {
  constexpr double kHalfTurn = std::numbers::pi_v<float>;
  Support s;
  for (const bool turns : is_angle) {
    s.upper.push_back(turns ? kHalfTurn : std::numeric_limits<double>::infinity());
    s.lower.push_back(-s.upper.back());
  }
  s.wraps = std::move(is_angle);
  return s;
}

bool contains(const Support& support, std::span<const float> x) {
  for (size_t j = 0; j < x.size(); ++j) {
    if (!std::isfinite(x[j])) return false;
    if (support.space == Support::Space::real) {
      if (!support.lower.empty() && (x[j] < support.lower[j] || x[j] > support.upper[j])) return false;
      continue;
    }
    if (x[j] < 0 || x[j] != std::floor(x[j])) return false;
    if (support.space == Support::Space::levels && x[j] >= static_cast<float>(support.levels[j]))
      return false;
  }
  return true;
}

}  // namespace selfnorm
