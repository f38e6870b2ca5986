#include "math/normal_distribution.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace selfnorm {
namespace {

constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
constexpr double kFractionFrom = 3;
constexpr int kFractionTerms = 60;  // leave less than 1e-16 at x = 3

}  // namespace

double normal_mass(double a, double b) {
  return a > 0   ? (std::erfc(a * kHalfRoot) - std::erfc(b * kHalfRoot)) / 2
         : b < 0 ? (std::erfc(-b * kHalfRoot) - std::erfc(-a * kHalfRoot)) / 2
                 : (std::erf(b * kHalfRoot) - std::erf(a * kHalfRoot)) / 2;
}

MillsRatio mills_ratio(double x) {
  if (!(x >= 0)) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  if (x < kFractionFrom) {
    const double ratio = std::sqrt(std::numbers::pi / 2) * std::exp(x * x / 2) * std::erfc(x * kHalfRoot);
    return {ratio, 1 / ratio - x};
  }
  double below = x;
  for (int k = kFractionTerms; k >= 2; --k) below = x + k / below;
  return {1 / (x + 1 / below), 1 / below};
}

}  // namespace selfnorm
