// The referee itself: gradients by differences, shards that add up, and closed forms.
#include "gpu/head_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gpu/head_problems.h"

namespace selfnorm::gpu {
namespace {

// What the gradients of a problem are of.
double objective_of(const HeadProblem& p) {
  const HeadResult r = head_reference(p);
  double sum = 0, denominator = 0;
  if (!p.selected.empty()) {
    for (size_t i = 0; i < p.selected_gradient.size(); ++i)
      sum += static_cast<double>(p.selected_gradient[i]) * r.selected_log_p[i];
    return sum;
  }
  for (int64_t i = 0; i < p.rows; ++i) {
    const double weight = p.token_weight.empty() ? 1.0 : p.token_weight[i];
    const double upstream = p.row_gradient.empty() ? 1.0 : p.row_gradient[i];
    const bool counts = !p.target.empty() && p.target[i] != p.options.ignore_index;
    sum += weight * upstream * (p.target.empty() ? r.log_z[i] : r.nll[i] + r.penalty[i]);
    denominator += counts ? weight : 0;
  }
  const bool is_mean = p.options.is_mean != 0 && !p.target.empty();
  return is_mean ? (denominator > 0 ? sum / denominator : 0) : sum;
}

TEST(HeadReference, GradientsAreThoseOfDifferences) {
  for (const auto& named : head_problems()) {
    if (named.second.classes > 256) continue;
    HeadProblem p = named.second;
    const HeadResult r = head_reference(p);
    const auto each = [&](std::vector<float> HeadProblem::*values, const std::vector<double>& gradient) {
      for (const size_t i : {size_t{0}, gradient.size() / 3, gradient.size() - 1}) {
        const float kept = (p.*values)[i], step = 1.0f / 256;
        (p.*values)[i] = kept + step;
        const double above = objective_of(p), high = (p.*values)[i];
        (p.*values)[i] = kept - step;
        const double below = objective_of(p), low = (p.*values)[i];
        (p.*values)[i] = kept;
        EXPECT_NEAR(gradient[i], (above - below) / (high - low), 2e-4 * (1 + std::abs(gradient[i])))
            << named.first << " at " << i;
      }
    };
    each(&HeadProblem::states, r.d_states);
    each(&HeadProblem::weight, r.d_weight);
    if (!p.bias.empty()) each(&HeadProblem::bias, r.d_bias);
  }
}

TEST(HeadReference, UniformScoresHaveLogKForLogZ) {
  HeadProblem p = random_head_problem(1, 2, 3, 8);
  p.weight.assign(p.weight.size(), 0);
  const HeadResult r = head_reference(p);
  EXPECT_DOUBLE_EQ(r.log_z[0], std::log(8.0));
  EXPECT_DOUBLE_EQ(r.nll[1], std::log(8.0));
  EXPECT_NEAR(r.entropy[0], std::log(8.0), 1e-15);
}

TEST(HeadReference, AllIgnoredIsNoLossAndNoGradient) {
  HeadProblem p = random_head_problem(1, 4, 3, 8);
  p.target.assign(4, p.options.ignore_index);
  p.options.penalty = 1;
  const HeadResult r = head_reference(p);
  EXPECT_EQ(r.loss, 0);
  for (double g : r.d_weight) EXPECT_EQ(g, 0);
}

TEST(HeadReference, ThePenaltyIsApartAndNothingWhenDisabled) {
  HeadProblem p = random_head_problem(1, 4, 3, 8);
  p.options.center = 3;
  const HeadResult without = head_reference(p);
  EXPECT_EQ(without.loss_penalty, 0);
  p.options.penalty = 0.5f;
  const HeadResult with = head_reference(p);
  EXPECT_DOUBLE_EQ(with.likelihood, without.likelihood);
  double sum = 0;
  for (double a : with.log_z) sum += 0.5 * (a - 3) * (a - 3) / 4;
  EXPECT_NEAR(with.loss_penalty, sum, 1e-12);
}

TEST(HeadReference, ShardsAddUpToTheWhole) {
  const HeadProblem whole = head_problems()[9].problem;
  const HeadResult wanted = head_reference(whole);
  const HeadResult first = head_reference(shard_of(whole, 0, 60, wanted));
  const HeadResult last = head_reference(shard_of(whole, 60, whole.classes, wanted));
  EXPECT_NEAR(first.loss + last.loss, wanted.loss, 1e-6);
  for (size_t i = 0; i < wanted.d_states.size(); ++i)
    EXPECT_NEAR(first.d_states[i] + last.d_states[i], wanted.d_states[i], 1e-7);
  EXPECT_NEAR(first.d_bias[7], wanted.d_bias[7], 1e-7);
  EXPECT_NEAR(last.d_bias[7], wanted.d_bias[67], 1e-7);
}

}  // namespace
}  // namespace selfnorm::gpu
