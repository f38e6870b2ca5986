#include "data/points/points.h"

#include <algorithm>
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

Support Support::mixed(std::vector<uint32_t> levels, std::vector<bool> is_angle) {
  const bool has_real = std::ranges::any_of(levels, [](uint32_t n) { return n == 0; });
  const bool has_levels = std::ranges::any_of(levels, [](uint32_t n) { return n > 0; });
  if (!has_real) return {.space = Space::levels, .levels = std::move(levels)};
  const bool has_angles = std::ranges::any_of(is_angle, [](bool turns) { return turns; });
  if (!has_levels && !has_angles) return {};
  Support s = angles(std::move(is_angle));
  if (!has_levels) return s;
  s.space = Space::mixed;
  s.levels = std::move(levels);
  return s;
}

bool contains(const Support& support, std::span<const float> x) {
  for (size_t j = 0; j < x.size(); ++j) {
    if (!std::isfinite(x[j])) return false;
    if (!support.is_whole(j)) {
      if (!support.lower.empty() && (x[j] < support.lower[j] || x[j] > support.upper[j])) return false;
      continue;
    }
    if (x[j] < 0 || x[j] != std::floor(x[j])) return false;
    if (support.space != Support::Space::counts && x[j] >= static_cast<float>(support.levels[j]))
      return false;
  }
  return true;
}

}  // namespace selfnorm
