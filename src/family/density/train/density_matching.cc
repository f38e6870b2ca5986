// sm, ssm, dsm: derivatives of the score (objective/score_matching.h).
#include <algorithm>

#include "family/density/train/density_step.h"
#include "objective/registry.h"
#include "objective/score_matching.h"

namespace selfnorm {
namespace {

constexpr uint64_t kDirectionStream = 0xD13;

class MatchingStep final : public DensityStep {
 public:
  explicit MatchingStep(DensityProblem& problem)
      : problem_(problem), random_(RandomStream(problem.options().seed, kDirectionStream).next()) {}

  DensityStepTerms operator()(const Points& batch, uint64_t step, double,
                              std::span<float> gradient) override {
    if (gradient.empty()) return {};
    RandomStream random(random_, step);
    const ScoreMatching kind = objective_entry(problem_.options().objective).matching;
    if (kind == ScoreMatching::denoising)
      return {.loss = denoise(batch, random, gradient), .d_log_normalizer = 0, .estimate = {}};
    double loss = 0;
    const uint64_t directions = kind == ScoreMatching::exact ? batch.columns : problem_.options().slices;
    const double share = kind == ScoreMatching::exact ? 1 : 1 / static_cast<double>(directions);
    for (uint64_t i = 0; i < directions; ++i) {
      direction_.assign(batch.size(), 0);
      if (kind == ScoreMatching::exact) {
        for (uint64_t row = 0; row < batch.rows; ++row) direction_[row * batch.columns + i] = 1;
      } else {
        for (float& v : direction_) v = static_cast<float>(random.normal());
      }
      loss += share * match(batch, share, gradient);
    }
    return {.loss = loss, .d_log_normalizer = 0, .estimate = {}};
  }

 private:
  // The mean over the rows along direction_.
  double match(const Points& batch, double share, std::span<float> gradient) {
    const Points v{direction_.data(), batch.rows, batch.columns};
    first_.resize(batch.rows);
    second_.resize(batch.rows);
    problem_.energy().directional(batch, v, first_, second_);
    const double weight = share / static_cast<double>(batch.rows);
    double loss = 0;
    for (uint64_t i = 0; i < batch.rows; ++i) {
      const DirectionTerms terms = match_along_direction(first_[i], second_[i]);
      loss += terms.loss;
      first_[i] = weight * terms.d_first;
      second_[i] = weight * terms.d_second;
    }
    problem_.energy().directional_backward(batch, v, first_, second_, gradient);
    return loss / static_cast<double>(batch.rows);
  }

  // d loss / d theta = sum_j d_j d(ds/dx_j)/d theta: one directional derivative along d.
  double denoise(const Points& batch, RandomStream& random, std::span<float> gradient) {
    const double sigma = problem_.options().noise;
    const uint64_t n = batch.rows, d = batch.columns;
    noise_.resize(batch.size());
    noisy_.assign(batch.data, batch.data + batch.size());
    for (uint64_t i = 0; i < batch.size(); ++i) {
      noise_[i] = static_cast<float>(random.normal());
      noisy_[i] += static_cast<float>(sigma) * noise_[i];
    }
    const Points x{noisy_.data(), n, batch.columns};
    first_.resize(n);
    slope_.resize(batch.size());
    direction_.resize(batch.size());
    problem_.energy().score_gradient(x, first_, slope_);
    double loss = 0;
    for (uint64_t i = 0; i < n; ++i)
      loss += match_denoised({slope_.data() + i * d, d}, {noise_.data() + i * d, d}, sigma,
                             {direction_.data() + i * d, d});
    std::fill(first_.begin(), first_.end(), 1 / static_cast<double>(n));
    problem_.energy().directional_backward(x, {direction_.data(), n, batch.columns}, first_, {}, gradient);
    return loss / static_cast<double>(n);
  }

  DensityProblem& problem_;
  uint64_t random_;
  std::vector<float> direction_, noise_, noisy_, slope_;
  std::vector<double> first_, second_;
};

}  // namespace

std::unique_ptr<DensityStep> make_matching_step(DensityProblem& problem) {
  return std::make_unique<MatchingStep>(problem);
}

}  // namespace selfnorm
