#include "proposal/conditional/truncated_normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/gauss_rule.h"
#include "math/special_functions.h"

namespace selfnorm {
namespace {

// Moments of tau: M, E tau, E tau^2.
struct Moments {
  double volume = 0, first = 0, second = 0;
};

// Where the exponent varies by 1 at most: Gauss and Legendre's rule of ten nodes.
Moments narrow(double tilt, double from, double to) {
  static const GaussRule rule(10);
  Moments out;
  for (size_t i = 0; i < rule.size(); ++i) {
    const double tau = from + (to - from) * rule.node[i];
    const double f = (to - from) * rule.weight[i] * std::exp(-tau * (tau / 2 + tilt));
    out.volume += f;
    out.first += f * tau;
    out.second += f * tau * tau;
  }
  out.first /= out.volume;
  out.second /= out.volume;
  return out;
}

// The mean inside, tilt = 0: M = sqrt(2 pi) (Phi(b) - Phi(a)); E t = (e^(-a^2/2) - e^(-b^2/2)) / M,
// E t^2 = 1 + (a e^(-a^2/2) - b e^(-b^2/2)) / M.
Moments around(double a, double b) {
  if (std::max(a * a, b * b) <= 2) return narrow(0, a, b);
  const double volume = std::sqrt(2 * std::numbers::pi) * normal_mass(a, b);
  const double ea = std::exp(-a * a / 2), eb = std::exp(-b * b / 2);
  return {volume, (ea - eb) / volume, 1 + ((ea > 0 ? a * ea : 0) - (eb > 0 ? b * eb : 0)) / volume};
}

// tau in [0, w] with a = tilt > 0; e = exp(-w (a + w / 2)), m Mills' ratio, r its excess:
//     M = m(a) - e m(a + w),   E tau = (m(a) r(a) - e m(a + w) (w + r(a + w))) / M,
//     E tau^2 = 1 - a E tau - w e / M.
Moments beyond(double a, double w) {
  const double fall = w * (a + w / 2);
  if (fall <= 1) return narrow(a, 0, w);
  const MillsRatio near = mills_ratio(a);
  const double e = std::exp(-fall);
  if (e == 0) return {near.ratio, near.excess, std::max(0.0, 1 - a * near.excess)};
  const MillsRatio far = mills_ratio(a + w);
  const double volume = near.ratio - e * far.ratio;
  const double first = (near.ratio * near.excess - e * far.ratio * (w + far.excess)) / volume;
  return {volume, first, std::max(0.0, 1 - a * first - w * e / volume)};
}

}  // namespace

TruncatedNormal TruncatedNormal::of(double mean, double scale, double lower, double upper) {
  TruncatedNormal out;
  out.anchor = std::clamp(mean, lower, upper);
  out.scale = scale;
  out.tilt = (out.anchor - mean) / scale;
  out.from = (lower - out.anchor) / scale;
  out.to = (upper - out.anchor) / scale;
  Moments moments;
  if (out.tilt == 0) {
    moments = around(out.from, out.to);
  } else if (out.tilt > 0) {
    moments = beyond(out.tilt, out.to);
  } else {
    moments = beyond(-out.tilt, -out.from);
    moments.first = -moments.first;
  }
  out.log_volume = std::log(scale) + std::log(moments.volume);
  out.first = moments.first;
  out.second = moments.second;
  return out;
}

double TruncatedNormal::log_density(double y) const {
  const double tau = (y - anchor) / scale;
  return -tau * (tau / 2 + tilt) - log_volume;
}

double TruncatedNormal::draw(RandomStream& random) const {
  const auto at = [this](double tau) { return anchor + scale * tau; };
  const double root = std::sqrt(2 * std::numbers::pi);
  const double mass = std::exp(log_volume - tilt * tilt / 2) / (scale * root);
  if (mass >= 0.2) {
    for (;;) {
      const double tau = random.normal() - tilt;
      if (tau >= from && tau <= to) return at(tau);
    }
  }
  const double slope = std::abs(tilt), width = to - from, fall = std::expm1(-slope * width);
  for (;;) {
    // Density e^(-slope |tau|) on the interval: uniform where it does not fall.
    const double u = random.uniform();
    const double size = fall < -1e-300 ? -std::log1p(u * fall) / slope : u * width;
    const double tau = tilt > 0 ? size : tilt < 0 ? -size : from + size;
    if (random.uniform() < std::exp(-tau * tau / 2)) return at(tau);
  }
}

}  // namespace selfnorm
