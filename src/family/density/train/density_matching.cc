// sm, ssm, dsm: derivatives of the score (objective/score_matching.h).
#include "family/density/train/density_step.h"
#include "objective/registry.h"
#include "objective/score_matching.h"

namespace selfnorm {
namespace {

constexpr uint64_t kDirectionStream = 0xD13;

class MatchingStep final : public DensityStep, private MatchedScore {
 public:
  explicit MatchingStep(DensityProblem& problem)
      : problem_(problem),
        random_(RandomStream(problem.options().seed, kDirectionStream).next()),
        matcher_(objective_entry(problem.options().objective).matching, problem.options().noise,
                 problem.options().slices) {}

  DensityStepTerms operator()(const Points& batch, uint64_t step, double,
                              std::span<float> gradient) override {
    if (gradient.empty()) return {};
    gradient_ = gradient;
    const double loss = matcher_(batch, RandomStream(random_, step), *this);
    return {.loss = loss, .d_log_normalizer = 0, .estimate = {}};
  }

 private:
  void slope(const Points& x, std::span<float> dx) override {
    score_.resize(x.rows);
    problem_.energy().score_gradient(x, score_, dx);
  }
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) override {
    problem_.energy().directional(x, v, first, second);
  }
  void backward(const Points& x, const Points& v, std::span<const double> d_first,
                std::span<const double> d_second) override {
    problem_.energy().directional_backward(x, v, d_first, d_second, gradient_);
  }

  DensityProblem& problem_;
  uint64_t random_;
  ScoreMatcher matcher_;
  std::span<float> gradient_;  // of the step
  std::vector<double> score_;
};

}  // namespace

std::unique_ptr<DensityStep> make_matching_step(DensityProblem& problem) {
  return std::make_unique<MatchingStep>(problem);
}

}  // namespace selfnorm
