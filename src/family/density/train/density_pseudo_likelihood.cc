// pseudo-likelihood of binary vectors (objective/pseudo_likelihood.h): every row and its d neighbours, with
// one bit flipped, go through the energy together.
#include <algorithm>

#include "family/density/train/density_step.h"
#include "objective/pseudo_likelihood.h"

namespace selfnorm {
namespace {

class PseudoLikelihoodStep final : public DensityStep {
 public:
  explicit PseudoLikelihoodStep(DensityProblem& problem) : pass_(problem.energy().make_pass()) {}

  DensityStepTerms operator()(const Points& batch, uint64_t, double, std::span<float> gradient) override {
    if (gradient.empty()) return {};
    const uint64_t n = batch.rows, d = batch.columns, group = d + 1;
    rows_.resize(n * group * d);
    for (uint64_t i = 0; i < n; ++i) {
      float* first = rows_.data() + i * group * d;
      for (uint64_t g = 0; g < group; ++g) std::copy_n(batch.row(i).data(), d, first + g * d);
      for (uint64_t j = 0; j < d; ++j) {
        float& flipped = first[(j + 1) * d + j];
        flipped = 1 - flipped;
      }
    }
    const std::span<const double> score = pass_->forward({rows_.data(), n * group, batch.columns});
    derivative_.resize(n * group);
    double loss = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const PseudoLikelihoodTerms terms = pseudo_likelihood(score[i * group], score.subspan(i * group + 1, d),
                                                            std::span(derivative_).subspan(i * group + 1, d));
      loss += terms.likelihood;
      derivative_[i * group] = terms.d_score;
    }
    for (double& g : derivative_) g /= static_cast<double>(n);
    pass_->backward(derivative_, gradient);
    return {.loss = loss / static_cast<double>(n), .d_log_normalizer = 0, .estimate = {}};
  }

 private:
  std::unique_ptr<EnergyPass> pass_;
  std::vector<float> rows_;
  std::vector<double> derivative_;
};

}  // namespace

std::unique_ptr<DensityStep> make_pseudo_likelihood_step(DensityProblem& problem) {
  return std::make_unique<PseudoLikelihoodStep>(problem);
}

}  // namespace selfnorm
