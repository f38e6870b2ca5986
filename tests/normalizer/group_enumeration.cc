#include "normalizer/group_enumeration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradient_check.h"
#include "math/parallel.h"
#include "random_data.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Log-normalizers of a joint model with dense alternatives, one row of T per alternative, `outputs`
// alternatives per x.
std::vector<double> log_normalizers(const std::vector<std::vector<float>>& alternatives, uint64_t outputs,
                                    const std::vector<double>& eta) {
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense.columns = static_cast<uint32_t>(eta.size());
  data.features.dense.rows = alternatives.size();
  for (const auto& row : alternatives)
    data.features.dense.values.insert(data.features.dense.values.end(), row.begin(), row.end());
  for (uint64_t i = 0; i <= alternatives.size(); i += outputs) data.group_begin.push_back(i);
  data.target.assign(data.examples(), 0);
  std::vector<double> out(data.examples());
  const GroupEnumeration<double> pass(Joint<double>(data.features, data.features.columns()), data);
  pass.run(eta, out.size(),
           [&](uint64_t g, double, double a) {
             out[g] = a;
             return ScoreDerivatives{};
           },
           {});
  return out;
}

// theory.md 1.1 [ARJK 3]: Y = {-1, 1}, T = (xy, 1), eta = (1, log(2/5)), x in {log 2, -log 2}: A = 0 at both
// x.
TEST(GroupEnumeration, ExactlyNormalisedExample) {
  const float l = static_cast<float>(std::log(2.0));
  const auto a = log_normalizers({{-l, 1}, {l, 1}, {l, 1}, {-l, 1}}, 2, {1, std::log(0.4)});
  ASSERT_EQ(a.size(), 2u);
  for (const double v : a) EXPECT_NEAR(v, 0, 1e-7);
}

// theory.md 1.2 [ARJK 3]: X = {(1,0), (0,1), (1,1)}, T = (x1 y, x2 y, 1). A is constant on X iff eta1 = eta2
// = 0, and zero only at (0, 0, -log 2).
TEST(GroupEnumeration, ImpossibleExample) {
  const std::vector<std::vector<float>> t = {{-1, 0, 1}, {1, 0, 1},   {0, -1, 1},
                                             {0, 1, 1},  {-1, -1, 1}, {1, 1, 1}};
  for (const double v : log_normalizers(t, 2, {0, 0, -std::log(2.0)})) EXPECT_NEAR(v, 0, 1e-15);
  RandomStream random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<double> eta{random.normal(), random.normal(), random.normal()};
    const auto a = log_normalizers(t, 2, eta);
    const double spread = *std::max_element(a.begin(), a.end()) - *std::min_element(a.begin(), a.end());
    // A(1,0) = A(0,1) forces |eta1| = |eta2| and then A(1,1) = A(1,0) forces both to 0: the spread is
    // positive.
    EXPECT_GT(spread, 1e-4 * (eta[0] * eta[0] + eta[1] * eta[1]));
  }
  // On the diagonal |eta1| = |eta2| two of the three agree and the third does not.
  const auto a = log_normalizers(t, 2, {0.7, 0.7, 0});
  EXPECT_NEAR(a[0], a[1], 1e-12);
  EXPECT_GT(a[2] - a[0], 0.1);
}

TEST(GroupEnumeration, GradientAgreesWithDifferences) {
  const Dataset data = random_groups(30, 4, 2);
  const Joint<double> model(data.features, 4);
  const GroupEnumeration<double> pass(model, data);
  const auto theta = random_vector<double>(4, 3);
  for (const uint64_t normalised : {30u, 11u}) {
    const auto visit = [&](uint64_t i, double, double) {
      return ScoreDerivatives{0.5 - 0.1 * static_cast<double>(i % 3),
                              i < normalised ? 0.3 * static_cast<double>(i % 4) : 0};
    };
    std::vector<double> gradient(4);
    pass.run(theta, normalised, visit, gradient);
    expect_gradient(
        [&](const std::vector<double>& t) {
          double sum = 0;
          for (uint64_t g = 0; g < 30; ++g) {
            LogSumExp z;
            for (uint64_t r = data.group_begin[g]; r < data.group_begin[g + 1]; ++r) z.add(model.score(t, r));
            const ScoreDerivatives d = visit(g, 0, 0);
            sum += d.score * model.score(t, data.group_begin[g] + data.target[g]) + d.log_z * z.value();
          }
          return sum;
        },
        theta, gradient);
  }
}

TEST(GroupEnumeration, SummaryAndThreads) {
  const Dataset data = random_groups(1000, 6, 4);
  const GroupEnumeration<float> pass(Joint<float>(data.features, 6), data);
  const auto theta = random_vector<float>(6, 5);
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    std::vector<float> g(6);
    pass.run(
        theta, 1000,
        [](uint64_t, double, double a) {
          return ScoreDerivatives{-1, 1 + a};
        },
        g);
    gradients.push_back(g);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  pass.summarise(theta, [&](uint64_t g, const OutputSummary& s) {
    EXPECT_EQ(s.outputs, data.group_begin[g + 1] - data.group_begin[g]);
    EXPECT_LT(s.better, s.outputs);
    EXPECT_LE(s.score, s.log_z + 1e-12);
  });
}

}  // namespace
}  // namespace selfnorm
