// sm, dsm: derivatives of s = f + log base in y (objective/score_matching.h), the base being a constant. The
// sum of sm over the coordinates of y is the exact trace. Both integrate by parts without boundary terms, so
// they are for y in all of R^d.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "family/regressor/train/regressor_slope.h"
#include "family/regressor/train/regressor_step.h"
#include "math/random.h"
#include "objective/registry.h"
#include "objective/score_matching.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMatchingNoiseStream = 0xD14;

// s of a minibatch, back to the tilt and its contexts.
class MatchedTilt final : public MatchedScore {
 public:
  MatchedTilt(const RegressorParts& parts, const RegressorStepInput& in, const RegressorStepGradient& out)
      : tilt_(parts.tilt), slope_(parts, in), out_(out) {}

  void slope(const Points& y, std::span<float> dy) override { slope_(y, dy); }
  void directional(const Points& y, const Points& v, std::span<double> first,
                   std::span<double> second) override {
    slope_.directional(y, v, first, second);
  }
  void backward(const Points& y, const Points& v, std::span<const double> d_first,
                std::span<const double> d_second) override {
    const ConditionalPoints at = slope_.tilt_at(y);
    d_context_.resize(at.context.size());
    tilt_.directional_backward(at, v, d_first, d_second, out_.tilt, d_context_);
    for (size_t i = 0; i < d_context_.size(); ++i) out_.context[i] += d_context_[i];
  }

 private:
  const ConditionalEnergy& tilt_;
  RegressorSlope slope_;
  const RegressorStepGradient& out_;
  std::vector<float> d_context_;
};

class MatchingRegressorStep final : public RegressorStep {
 public:
  explicit MatchingRegressorStep(const RegressorParts& parts)
      : parts_(parts),
        matcher_(objective_entry(parts.options.objective).matching, parts.options.noise),
        random_(RandomStream(parts.options.seed, kMatchingNoiseStream).next()) {
    const MixtureShape& shape = parts.mixture.shape();
    const auto is_finite = [](double bound) { return std::isfinite(bound); };
    if (std::any_of(shape.lower.begin(), shape.lower.end(), is_finite) ||
        std::any_of(shape.upper.begin(), shape.upper.end(), is_finite))
      throw Error(fmt::format(
          "objective {}: the support of the target has a lower or upper end, where score matching lacks its "
          "boundary terms; leave out lower and upper, or use another objective (snl is the default)",
          parts.options.objective));
  }

  bool uses_normalizer() const override { return false; }

  RegressorStepTerms operator()(const RegressorStepInput& in, const RegressorStepGradient& out) override {
    MatchedTilt score(parts_, in, out);
    return {.loss = matcher_(in.y, RandomStream(random_, in.step), score)};
  }

 private:
  RegressorParts parts_;
  ScoreMatcher matcher_;
  uint64_t random_;
};

}  // namespace

std::unique_ptr<RegressorStep> make_matching_regressor_step(const RegressorParts& parts) {
  return std::make_unique<MatchingRegressorStep>(parts);
}

}  // namespace selfnorm
