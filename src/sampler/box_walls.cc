#include "sampler/box_walls.h"

#include <cmath>
#include <limits>

namespace selfnorm {
namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();

}  // namespace

float BoxWalls::reflect(uint32_t j, double target, double& velocity) const {
  if (support_.lower.empty() || !std::isfinite(target)) return static_cast<float>(target);
  const double low = support_.lower[j], high = support_.upper[j];
  bool is_turned = false;
  if (std::isfinite(low) && std::isfinite(high)) {
    const double width = high - low;
    double way = std::fmod(target - low, 2 * width);
    if (way < 0) way += 2 * width;
    is_turned = way > width;
    target = low + (is_turned ? 2 * width - way : way);
  } else if (target < low || target > high) {
    is_turned = true;
    target = 2 * (target < low ? low : high) - target;
  }
  if (is_turned) velocity = -velocity;
  const auto x = static_cast<float>(target);
  if (static_cast<double>(x) < low) return std::nextafter(x, kFar);
  if (static_cast<double>(x) > high) return std::nextafter(x, -kFar);
  return x;
}

}  // namespace selfnorm
