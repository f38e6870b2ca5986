#include <algorithm>
#include <cmath>

#include "optim/lbfgs.h"

namespace selfnorm {
namespace {

constexpr double kDecrease = 1e-4;
constexpr double kCurvature = 0.9;
constexpr int kMaxEvaluations = 30;

// The minimiser of the cubic through both points (Nocedal & Wright 3.59), kept 10% inside the interval.
double cubic_minimum(const LinePoint& a, const LinePoint& b) {
  const double low = std::min(a.step, b.step), high = std::max(a.step, b.step);
  const double margin = 0.1 * (high - low);
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double square = d1 * d1 - a.slope * b.slope;
  double t = 0.5 * (low + high);
  if (square >= 0 && std::isfinite(square)) {
    const double d2 = std::copysign(std::sqrt(square), b.step - a.step);
    const double cubic = b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
    if (std::isfinite(cubic)) t = cubic;
  }
  return std::clamp(t, low + margin, high - margin);
}

}  // namespace

LineResult strong_wolfe(const std::function<LinePoint(double)>& phi, const LinePoint& start,
                        double first_step, double noise) {
  LineResult result;
  int evaluations = 0;
  const auto evaluate = [&](double step) {
    ++evaluations;
    result.last_step = step;
    return phi(step);
  };
  const auto finite = [](const LinePoint& p) { return std::isfinite(p.value) && std::isfinite(p.slope); };
  const auto decreases = [&](const LinePoint& p) {
    return p.value <= start.value + kDecrease * p.step * start.slope + noise;
  };
  const auto flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };
  const auto take = [&](const LinePoint& p) {
    result.success = true;
    result.point = p;
    return result;
  };

  // Grow the step until it is good or an interval (low, high) must hold a good one.
  LinePoint low = start, high = start, previous = start;
  double step = first_step;
  for (;;) {
    if (evaluations >= kMaxEvaluations) return result;
    const LinePoint now = evaluate(step);
    if (!finite(now)) {
      if (previous.step > 0) return take(previous);
      step *= 0.1;
      continue;
    }
    if (!decreases(now) || (previous.step > 0 && now.value > previous.value + noise)) {
      low = previous;
      high = now;
      break;
    }
    if (flat(now)) return take(now);
    if (now.slope >= 0) {
      low = now;
      high = previous;
      break;
    }
    previous = now;
    step *= 4;
  }
  while (evaluations < kMaxEvaluations && std::abs(high.step - low.step) > 1e-12 * std::max(1.0, low.step)) {
    const LinePoint now = evaluate(cubic_minimum(low, high));
    if (!finite(now) || !decreases(now) || now.value > low.value + noise) {
      high = now;
      if (!finite(now)) high = {now.step, low.value + std::abs(low.value), std::abs(low.slope)};
      continue;
    }
    if (flat(now)) return take(now);
    if (now.slope * (high.step - low.step) >= 0) high = low;
    low = now;
  }
  if (low.step > 0 && low.value < start.value) return take(low);
  return result;
}

}  // namespace selfnorm
