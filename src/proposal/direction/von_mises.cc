#include "proposal/direction/von_mises.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/special_functions.h"

namespace selfnorm {

double wrapped_angle(double x) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double out = x - kTurn * std::floor((x + std::numbers::pi) / kTurn);
  return out >= std::numbers::pi ? -std::numbers::pi : out;
}

double von_mises_draw(RandomStream& random, double mu, double kappa) {
  constexpr double kFlat = 1e-6, kNarrow = 1e5;
  if (kappa < kFlat) return wrapped_angle(mu + 2 * std::numbers::pi * random.uniform());
  if (kappa > kNarrow) return wrapped_angle(mu + random.normal() / std::sqrt(kappa));
  const double a = 1 + std::sqrt(1 + 4 * kappa * kappa), b = (a - std::sqrt(2 * a)) / (2 * kappa);
  const double r = (1 + b * b) / (2 * b);
  while (true) {
    const double z = std::cos(std::numbers::pi * random.uniform());
    const double f = (1 + r * z) / (r + z), c = kappa * (r - f), u = random.uniform();
    if (!(c * (2 - c) > u) && !(std::log(c / std::max(u, 1e-300)) + 1 >= c)) continue;
    const double side = random.uniform() < 0.5 ? -1 : 1;
    return wrapped_angle(mu + side * std::acos(std::clamp(f, -1.0, 1.0)));
  }
}

double von_mises_concentration(double r, double most) {
  if (!(r > 0)) return 0;
  double kappa = std::min(most, r < 0.53   ? 2 * r + r * r * r + 5 * std::pow(r, 5) / 6
                                : r < 0.85 ? -0.4 + 1.39 * r + 0.43 / (1 - r)
                                           : 1 / (r * (1 - r) * (3 - r)));  // Fisher 1993
  for (int i = 0; i < 20 && kappa < most; ++i) {
    const double ratio = bessel_i(kappa).ratio;
    const double slope = 1 - ratio * ratio - (kappa > 0 ? ratio / kappa : 0.5);
    const double step = (ratio - r) / std::max(slope, 1e-12);
    kappa = std::clamp(kappa - step, 0.5 * kappa, std::min(most, 2 * kappa + 1e-3));
    if (std::abs(step) < 1e-10 * (1 + kappa)) break;
  }
  return std::min(kappa, most);
}

double fisher_log_normalizer(double kappa) {
  if (kappa < 1e-4) return std::log(4 * std::numbers::pi) + kappa * kappa / 6;
  return std::log(2 * std::numbers::pi) + kappa + std::log1p(-std::exp(-2 * kappa)) - std::log(kappa);
}

double fisher_mean(double kappa) { return kappa < 1e-3 ? kappa / 3 : 1 / std::tanh(kappa) - 1 / kappa; }

// By bisection of a monotone function.
double fisher_concentration(double r, double most) {
  if (!(r > 1e-6)) return 3 * std::max(r, 0.0);
  double low = 0, high = most;
  for (int i = 0; i < 80; ++i) {
    const double k = 0.5 * (low + high);
    (fisher_mean(k) < r ? low : high) = k;
  }
  return 0.5 * (low + high);
}

}  // namespace selfnorm
