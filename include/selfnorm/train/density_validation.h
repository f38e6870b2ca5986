// The negative log-likelihood of held-out rows while an energy is trained, with log Z by importance sampling
// from the proposal: the same rows and the same samples at every check, so that checks differ by the energy
// alone. Keeps the best energy so far.
#pragma once

#include <optional>
#include <vector>

#include "selfnorm/normalizer/importance_log_z.h"
#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/density_problem.h"

namespace selfnorm {

class DensityValidation {
 public:
  static constexpr uint64_t kRows = 5000;       // at most, chosen at random once
  static constexpr uint64_t kSamples = 20'000;  // of the proposal
  static constexpr double kLeastEffective = 100;

  // `rows` may be empty: then nothing is checked.
  DensityValidation(DensityProblem& problem, std::span<const uint64_t> rows);

  bool present() const { return !rows_.empty(); }
  // Rows left out because they are outside the support: they have no likelihood at all.
  uint64_t outside() const { return outside_; }

  // The estimate, or nothing when it has too few effective samples to be told from noise. Remembers theta and
  // b when it is the best.
  std::optional<double> check(double log_normalizer, uint64_t step);
  std::optional<uint64_t> best_step() const;  // nothing before the first check
  // Checks since the best one; only those with an estimate count.
  uint64_t stale() const { return stale_; }
  // The best theta and b are put back; returns b, or the one given when there was no check.
  double restore_best(double log_normalizer);

  void save(Checkpoint& c) const;
  void restore(const Checkpoint& c);

 private:
  DensityProblem& problem_;
  std::vector<float> rows_;     // standardised
  std::vector<float> samples_;  // of the proposal, with their log q
  std::vector<double> log_q_;
  std::vector<float> best_;
  double best_nll_ = 0, best_normalizer_ = 0;
  uint64_t best_step_ = 0, stale_ = 0, outside_ = 0;
};

}  // namespace selfnorm
