#include "family/density/train/density_normalizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/checkpoint.h"
#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSamples = 20'000;
constexpr uint64_t kDensityNormalizerStream = 0xE571;

constexpr uint64_t kRowStream = 0x7A11, kDensityValidationStream = 0x7A12;

}  // namespace

DensityNormalizer::DensityNormalizer(const DensityProblem& problem, bool is_used)
    : problem_(problem), is_learned_(is_used && problem.options().normalizer == "constant") {}

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

void DensityNormalizer::state(CheckpointFields& fields) {
  fields("normalizer", value_);
  fields("normalizer.mean_ratio", mean_ratio_);
  fields("normalizer", optimiser_);
}

std::vector<uint64_t> validation_rows(const DensityOptions& options, std::span<const uint64_t> rows) {
  std::vector<uint64_t> chosen(rows.begin(), rows.end());
  if (chosen.size() > DensityValidation::kRows) {
    RandomStream(options.seed, kRowStream).shuffle(chosen);
    chosen.resize(DensityValidation::kRows);
  }
  return chosen;
}

DensityValidation::DensityValidation(DensityProblem& problem, std::span<const uint64_t> rows)
    : problem_(problem),
      intervals_(problem.interval_store(validation_rows(problem.options(), rows), problem.options().seed)) {
  if (rows.empty()) return;
  const std::vector<uint64_t> chosen = validation_rows(problem.options(), rows);
  std::vector<float> all;
  problem.read(chosen, all);
  const uint32_t d = problem.energy().dimension();
  const Support support = problem.energy().support();
  for (uint64_t i = 0; i < chosen.size(); ++i) {
    const std::span<const float> row = std::span(all).subspan(i * d, d);
    if (intervals_.has(chosen[i])) continue;
    if (contains(support, row) && !intervals_.lost().contains(chosen[i]))
      rows_.insert(rows_.end(), row.begin(), row.end());
    else
      ++outside_;
  }
  base_ = intervals_.log_masses();
  samples_.resize(kSamples * problem.energy().dimension());
  const bool cancels = problem.cancelled_tilt() != nullptr;
  if (!cancels) log_q_.resize(kSamples);
  sample_density(problem.proposal(), RandomStream(problem.options().seed, kDensityValidationStream).next(),
                 samples_, log_q_);
  if (!cancels) return;
  std::vector<double> log_q(rows_.size() / d);
  density_log_prob(problem.proposal(), {rows_.data(), log_q.size(), d}, log_q);
  for (const double l : log_q) base_ += l;
}

std::optional<double> DensityValidation::check() const {
  const Energy& energy =
      problem_.cancelled_tilt() != nullptr ? *problem_.cancelled_tilt() : problem_.energy();
  return check([&](const Points& x, std::span<double> s) { energy.score(x, s); });
}

std::optional<double> DensityValidation::check(const Scores& score_of) const {
  if (!present()) return std::nullopt;
  const uint32_t d = problem_.energy().dimension();
  std::vector<double> score(std::max<uint64_t>(kSamples, rows_.size() / d));
  score_of({samples_.data(), kSamples, d}, std::span(score).first(kSamples));
  WeightSum weights;
  for (uint64_t i = 0; i < kSamples; ++i) weights.add(score[i] - (log_q_.empty() ? 0 : log_q_[i]));
  if (!(weights.effective() >= kLeastEffective)) return std::nullopt;
  const uint64_t n = rows_.size() / d;
  score_of({rows_.data(), n, d}, std::span(score).first(n));
  double sum = base_ + intervals_.log_ratios(score_of);
  for (uint64_t i = 0; i < n; ++i) sum += score[i];
  const double nll = weights.log_mean() - sum / static_cast<double>(n + intervals_.rows()) +
                     problem_.standardisation().log_volume();
  return std::isfinite(nll) ? std::optional(nll) : std::nullopt;
}

}  // namespace selfnorm
