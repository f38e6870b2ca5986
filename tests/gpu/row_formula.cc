// What the kernels compute with, in their order of work (vectors, threads, blocks), against the referee.
#include "gpu/row_formula.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/head_problems.h"

namespace selfnorm::gpu {
namespace {

struct EmulatedRow {
  RowSums sums;
  float target_score = 0;
  RowLoss loss;
  LogZ log_z;
};

// The sums of pieces of some scores, merged in order.
RowSums sums_of(const std::vector<float>& scores, size_t piece) {
  RowSums total = RowSums::none();
  for (size_t first = 0; first < scores.size(); first += piece) {
    RowSums part = RowSums::none();
    for (size_t k = first; k < std::min(scores.size(), first + piece); ++k)
      part.merge({std::max(scores[k], kLowest), scores[k] > kLowest ? 1.0f : 0.0f, 0, scores[k],
                  static_cast<int32_t>(k), 0});
    total.merge(part);
  }
  return total;
}

std::vector<float> scores_of(const HeadProblem& p, int64_t i, std::vector<float>& slopes) {
  std::vector<float> out;
  for (int64_t k = 0; k < p.classes; ++k) {
    float product = 0;
    for (int64_t j = 0; j < p.dim; ++j) product += p.states[i * p.dim + j] * p.weight[k * p.dim + j];
    const float z = p.options.logit_scale * (product + (p.bias.empty() ? 0 : p.bias[k]));
    out.push_back(capped(z, p.options.softcap) + (p.carrier.empty() ? 0 : p.carrier[k]));
    slopes.push_back(slope(z, p.options.logit_scale, p.options.softcap));
  }
  return out;
}

EmulatedRow emulated(const HeadProblem& p, int64_t i, const std::vector<float>& scores, size_t piece) {
  EmulatedRow out;
  out.sums = sums_of(scores, piece);
  out.log_z = p.given_log_z.empty() ? LogZ{out.sums.max, std::log(out.sums.sum)} : LogZ{p.given_log_z[i], 0};
  if (p.target.empty() || p.target[i] == p.options.ignore_index) return out;
  const int64_t t = p.target[i] - p.options.first_class;
  const bool is_ours = t >= 0 && t < p.classes;
  if (is_ours) out.target_score = scores[t];
  const int64_t all = p.options.all_classes > 0 ? p.options.all_classes : p.classes;
  out.loss =
      row_loss({p.options.label_smoothing, p.options.penalty, p.options.center, static_cast<float>(all)},
               out.log_z, out.target_score, out.sums.plain, {is_ours, p.options.first_class == 0});
  return out;
}

void expect_near(double got, double wanted, double tolerance, const std::string& what) {
  EXPECT_NEAR(got, wanted, tolerance * std::max(1.0, std::abs(wanted))) << what;
}

void expect_as_reference(const std::string& name, const HeadProblem& p) {
  const HeadResult wanted = head_reference(p);
  std::vector<double> d_bias(p.classes);
  double denominator = 0;
  for (int64_t i = 0; i < p.rows && !p.target.empty(); ++i)
    if (p.target[i] != p.options.ignore_index)
      denominator += p.token_weight.empty() ? 1.0 : p.token_weight[i];
  const double inverse = p.options.is_mean == 0 ? 1 : denominator > 0 ? 1 / denominator : 0;
  for (int64_t i = 0; i < p.rows; ++i) {
    std::vector<float> slopes;
    const std::vector<float> scores = scores_of(p, i, slopes);
    const EmulatedRow row = emulated(p, i, scores, 8);
    const std::string what = name + ", row " + std::to_string(i);
    expect_near(row.sums.max + std::log(row.sums.sum), wanted.log_z[i], 1e-6, what);
    expect_near(row.sums.max + row.sums.shifted / row.sums.sum, wanted.expected[i], 4e-6, what);
    EXPECT_EQ(row.sums.best + p.options.first_class, wanted.best[i]) << what;
    expect_near(row.loss.nll, wanted.nll[i], 1e-4, what);
    expect_near(row.loss.penalty, wanted.penalty[i], 1e-5, what);
    if (p.target.empty() || p.target[i] == p.options.ignore_index) continue;
    const double weight = inverse * (p.token_weight.empty() ? 1.0 : p.token_weight[i]) *
                          (p.row_gradient.empty() ? 1.0 : p.row_gradient[i]);
    for (int64_t k = 0; k < p.classes; ++k) {
      const float share = std::exp((scores[k] - row.log_z.top) - row.log_z.rest);
      const float by = row.loss.partition * share - row.loss.even -
                       (k == p.target[i] - p.options.first_class ? row.loss.picked : 0);
      d_bias[k] += weight * static_cast<double>(by * slopes[k]);
    }
  }
  if (p.target.empty()) return;
  for (int64_t k = 0; k < p.classes; ++k) expect_near(d_bias[k], wanted.d_bias[k], 1e-5, name);
}

TEST(RowFormula, AgreesWithTheRefereeOnEverythingThatOthersGotWrong) {
  for (const auto& [name, problem] : head_problems())
    if (problem.classes <= 256) expect_as_reference(name, problem);
}

TEST(RowFormula, AgreesOnShardsOfTheClasses) {
  const HeadProblem whole = head_problems()[9].problem;
  const HeadResult result = head_reference(whole);
  expect_as_reference("first shard", shard_of(whole, 0, 77, result));
  expect_as_reference("last shard", shard_of(whole, 77, whole.classes, result));
}

TEST(RowFormula, SumsDoNotDependOnTheCutBeyondRounding) {
  std::mt19937 random(3);
  const std::vector<float> scores = normals(random, 1000, 3);
  const RowSums whole = sums_of(scores, 1000);
  for (const size_t piece : {1, 7, 64, 999}) {
    const RowSums cut = sums_of(scores, piece);
    EXPECT_EQ(cut.max, whole.max);
    EXPECT_EQ(cut.best, whole.best);
    EXPECT_NEAR(cut.sum, whole.sum, 1e-4f * whole.sum);
    EXPECT_NEAR(cut.shifted, whole.shifted, 1e-4f * std::abs(whole.shifted));
  }
}

TEST(RowFormula, TheFirstOfEquallyGoodClassesIsTheBest) {
  EXPECT_EQ(sums_of({1, 5, 2, 5, 5}, 2).best, 1);
  EXPECT_EQ(sums_of({1, 5, 2, 5, 5}, 1).best, 1);
}

TEST(RowFormula, ClassesWithoutMassCountNothing) {
  const RowSums with = sums_of({1, -INFINITY, 2}, 2), without = sums_of({1, 2}, 2);
  EXPECT_FLOAT_EQ(with.sum, without.sum);
  EXPECT_FLOAT_EQ(with.shifted, without.shifted);
}

TEST(RowFormula, NothingOfTheLossIsLostToALargeOffset) {
  const LossOptions plain{0, 0, 0, 2};
  const float at_zero = row_loss(plain, {0.5f, 0.693147f}, 0.25f, 0, {true, true}).nll;
  const float far_off = row_loss(plain, {16384.5f, 0.693147f}, 16384.25f, 0, {true, true}).nll;
  EXPECT_EQ(at_zero, far_off);
}

}  // namespace
}  // namespace selfnorm::gpu
