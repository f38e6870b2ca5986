#include "family/density/train/density_normalizer.h"

#include <cmath>

#include "engine/checkpoint.h"
#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSamples = 20'000;
constexpr double kMemory = 0.98;  // of the running mean
constexpr uint64_t kDensityNormalizerStream = 0xE571;

}  // namespace

DensityNormalizer::DensityNormalizer(const DensityProblem& problem, bool is_used)
    : problem_(problem), is_learned_(is_used && problem.options().normalizer == "learned") {}

void DensityNormalizer::estimate(uint64_t step) {
  if (!is_learned_) return;
  value_ = importance_log_z(problem_.energy(), problem_.proposal(), kSamples,
                            RandomStream(problem_.options().seed, kDensityNormalizerStream + step).next())
               .value;
  optimiser_ = Adaptive<double>("adam", 1, 0);
  mean_ratio_ = 0;
}

void DensityNormalizer::move(double derivative, double rate) {
  if (!is_learned_) return;
  optimiser_.begin_step();
  optimiser_.update({&value_, 1}, 0, {&derivative, 1}, rate, 0);
}

std::optional<double> DensityNormalizer::watch(double log_ratio, uint64_t step) {
  mean_ratio_ = kMemory * mean_ratio_ + (1 - kMemory) * log_ratio;
  if (!is_learned_ || std::abs(mean_ratio_) <= problem_.options().drift) return std::nullopt;
  const double drifted = mean_ratio_;
  estimate(step);
  return drifted;
}

void DensityNormalizer::save(Checkpoint& c) const {
  c.set("normalizer", value_);
  c.set("normalizer.mean_ratio", mean_ratio_);
  save_adaptive(optimiser_, "normalizer", c);
}

void DensityNormalizer::restore(const Checkpoint& c) {
  value_ = c.number("normalizer");
  mean_ratio_ = c.number("normalizer.mean_ratio");
  restore_adaptive(c, "normalizer", optimiser_);
}

}  // namespace selfnorm
