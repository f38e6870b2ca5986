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

class MatchingRegressorStep final : public RegressorStep {
 public:
  explicit MatchingRegressorStep(const RegressorParts& parts) : parts_(parts) {
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
    if (objective_entry(parts_.options.objective).matching == ScoreMatching::denoising)
      return {.loss = denoise(in, out)};
    double loss = 0;
    for (uint32_t j = 0; j < in.y.columns; ++j) {
      direction_.assign(in.y.size(), 0);
      for (uint64_t i = 0; i < in.y.rows; ++i) direction_[i * in.y.columns + j] = 1;
      loss += match(in, out);
    }
    return {.loss = loss};
  }

 private:
  // The mean over the rows along direction_.
  double match(const RegressorStepInput& in, const RegressorStepGradient& out) {
    const Points v{direction_.data(), in.y.rows, in.y.columns};
    RegressorSlope slope(parts_, in);
    first_.resize(in.y.rows);
    second_.resize(in.y.rows);
    slope.directional(in.y, v, first_, second_);
    const double scale = 1 / static_cast<double>(in.y.rows);
    double loss = 0;
    for (uint64_t i = 0; i < in.y.rows; ++i) {
      const DirectionTerms terms = match_along_direction(first_[i], second_[i]);
      loss += scale * terms.loss;
      first_[i] = scale * terms.d_first;
      second_[i] = scale * terms.d_second;
    }
    add_gradient(slope.tilt_at(in.y), v, second_, out);
    return loss;
  }

  // d loss / d theta = sum_j d_j d(ds/dy_j)/d theta: one directional derivative along d.
  double denoise(const RegressorStepInput& in, const RegressorStepGradient& out) {
    const double sigma = parts_.options.noise;
    const uint64_t n = in.y.rows, d = in.y.columns;
    RandomStream random(RandomStream(parts_.options.seed, kMatchingNoiseStream).next(), in.step);
    noise_.resize(in.y.size());
    noisy_.resize(in.y.size());
    for (size_t i = 0; i < noise_.size(); ++i) {
      noise_[i] = static_cast<float>(random.normal());
      noisy_[i] = static_cast<float>(in.y.data[i] + sigma * noise_[i]);
    }
    const Points y{noisy_.data(), n, in.y.columns};
    RegressorSlope slope(parts_, in);
    slope_.resize(in.y.size());
    direction_.resize(in.y.size());
    slope(y, slope_);
    const double scale = 1 / static_cast<double>(n);
    double loss = 0;
    for (uint64_t i = 0; i < n; ++i)
      loss +=
          scale * match_denoised({&slope_[i * d], d}, {&noise_[i * d], d}, sigma, {&direction_[i * d], d});
    first_.assign(n, scale);
    add_gradient(slope.tilt_at(y), {direction_.data(), n, in.y.columns}, {}, out);
    return loss;
  }

  void add_gradient(const ConditionalPoints& at, const Points& v, std::span<const double> d_second,
                    const RegressorStepGradient& out) {
    d_context_.resize(at.context.size());
    parts_.tilt.directional_backward(at, v, first_, d_second, out.tilt, d_context_);
    for (size_t i = 0; i < d_context_.size(); ++i) out.context[i] += d_context_[i];
  }

  RegressorParts parts_;
  std::vector<float> direction_, noise_, noisy_, slope_, d_context_;
  std::vector<double> first_, second_;
};

}  // namespace

std::unique_ptr<RegressorStep> make_matching_regressor_step(const RegressorParts& parts) {
  return std::make_unique<MatchingRegressorStep>(parts);
}

}  // namespace selfnorm
