#include "normalizer/sampling/annealing_schedule.h"

#include <cmath>

namespace selfnorm {
namespace {

constexpr double kRate = 0.5;               // log step += rate (acceptance - wanted)
constexpr uint64_t kFirstTransitions = 30;  // at beta = 0, to find the first step
constexpr double kLinear = 0.1;

// The standard deviation of the weights that are finite.
double deviation(const std::vector<double>& weight) {
  double count = 0, mean = 0, square = 0;
  for (const double w : weight) {
    if (!std::isfinite(w)) continue;
    const double change = w - mean;
    mean += change / ++count;
    square += change * (w - mean);
  }
  return count < 2 ? 0 : std::sqrt(square / (count - 1));
}

}  // namespace

AnnealingSchedule::AnnealingSchedule(const AnnealedOptions& options, uint32_t dimension)
    : options_(options), dimension_(dimension) {}

double AnnealingSchedule::pilot_beta(uint64_t k) const {
  const double share = static_cast<double>(k) / static_cast<double>(options_.temperatures);
  return share * share * share;
}

uint64_t AnnealingSchedule::nearest(double beta) const {
  return static_cast<uint64_t>(std::lround(std::cbrt(beta) * static_cast<double>(options_.temperatures)));
}

void AnnealingSchedule::fit(HmcChains& pilot) {
  double step = 0.5;
  for (uint64_t k = 0; k <= options_.temperatures; ++k) {
    CoordinateScales scales(dimension_);
    scales.add(pilot.points());
    const std::vector<double> scale = scales.scales();
    for (uint64_t t = 0; t < (k == 0 ? kFirstTransitions : 1); ++t) {
      const double acceptance = pilot.transition(pilot_beta(k), {step, options_.leapfrog, scale});
      step *= std::exp(kRate * (acceptance - options_.acceptance));
    }
    step_.push_back(step);
    scale_.insert(scale_.end(), scale.begin(), scale.end());
    deviation_.push_back(deviation(pilot.values().weight));
  }
}

void AnnealingSchedule::fit(GibbsChains& pilot) {
  for (uint64_t k = 0; k <= options_.temperatures; ++k) {
    pilot.sweep(pilot_beta(k));
    deviation_.push_back(deviation(pilot.values().weight));
  }
}

// The share of the length up to a pilot's beta is piecewise linear between them; beta_k is where it is k/K.
std::vector<double> AnnealingSchedule::betas() const {
  const uint64_t n = options_.temperatures;
  std::vector<double> length(n + 1);
  for (uint64_t k = 1; k <= n; ++k)
    length[k] = length[k - 1] + (deviation_[k - 1] + deviation_[k]) / 2 * (pilot_beta(k) - pilot_beta(k - 1));
  const double total = length[n];
  for (uint64_t k = 0; k <= n; ++k)
    length[k] = total > 0 ? (1 - kLinear) * length[k] / total + kLinear * pilot_beta(k) : pilot_beta(k);
  std::vector<double> out(n + 1);
  uint64_t at = 0;
  for (uint64_t k = 1; k < n; ++k) {
    const double wanted = static_cast<double>(k) / static_cast<double>(n);
    while (length[at + 1] < wanted) ++at;
    const double part = (wanted - length[at]) / (length[at + 1] - length[at]);
    out[k] = pilot_beta(at) + part * (pilot_beta(at + 1) - pilot_beta(at));
  }
  out[n] = 1;
  return out;
}

double AnnealingSchedule::move(HmcChains& chains, double beta) const {
  const uint64_t k = nearest(beta);
  return chains.transition(
      beta, {step_[k], options_.leapfrog, std::span(scale_).subspan(k * dimension_, dimension_)});
}

double AnnealingSchedule::move(GibbsChains& chains, double beta) const { return chains.sweep(beta); }

}  // namespace selfnorm
