// The negative log-likelihood of held-out rows while an energy is trained, with log Z by importance sampling
// from the proposal: the same rows and the same samples at every check, so that checks differ by the energy
// alone.
#pragma once

#include <optional>
#include <vector>

#include "family/density/train/density_problem.h"
#include "normalizer/sampling/importance_log_z.h"

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

  // The estimate, or nothing when it has too few effective samples to be told from noise.
  std::optional<double> check() const;

 private:
  DensityProblem& problem_;
  std::vector<float> rows_;     // standardised
  std::vector<float> samples_;  // of the proposal, with their log q
  std::vector<double> log_q_;
  uint64_t outside_ = 0;
};

}  // namespace selfnorm
