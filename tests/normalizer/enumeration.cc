#include "normalizer/enumeration.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradient_check.h"
#include "math/parallel.h"
#include "random_data.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Oracle: A(x_i) one class at a time.
double log_z_by_hand(const Multiclass<double>& model, std::span<const double> theta, uint64_t row) {
  LogSumExp sum;
  for (uint32_t k = 0; k < model.classes(); ++k) sum.add(model.score(theta, row, k));
  return sum.value();
}

TEST(Enumeration, LogNormalizerAndScoreAgreeWithTheOracle) {
  for (const bool sparse : {false, true}) {
    for (const uint32_t classes : {1u, 2u, 33u, 700u}) {
      const Dataset data =
          random_dataset({.rows = 150, .features = 40, .classes = classes, .sparse = sparse}, classes);
      const Multiclass<double> model(data.features, classes, 40, {});
      const auto theta = random_vector<double>(model.parameters(), 2, 0.3);
      const Enumeration<double> pass(model, data.target);
      int seen = 0;
      std::vector<int> visited(150);
      pass.run(theta, 150,
               [&](uint64_t i, double score, double log_z) {
                 EXPECT_NEAR(score, model.score(theta, i, data.target[i]), 1e-10);
                 EXPECT_NEAR(log_z, log_z_by_hand(model, theta, i), 1e-10);
                 ++visited[i];
                 return ScoreDerivatives{};
               },
               {});
      for (const int v : visited) seen += v == 1;
      EXPECT_EQ(seen, 150);
    }
  }
}

// Every way of cutting the work (row chunks, kept tiles) gives the gradient of sum_i (a_i s_i + b_i A_i).
TEST(Enumeration, GradientOfEveryPlanAgreesWithDifferences) {
  struct Case {
    uint32_t classes, features;
    bool sparse;
  };
  for (const Case& c : {Case{3, 4, false}, Case{3, 4, true}, Case{5, 2, false}}) {
    const Dataset data =
        random_dataset({.rows = 70, .features = c.features, .classes = c.classes, .sparse = c.sparse}, 9);
    const Multiclass<double> model(data.features, c.classes, c.features, {});
    const auto theta = random_vector<double>(model.parameters(), 3);
    const Enumeration<double> pass(model, data.target);
    const auto visit = [](uint64_t i, double, double) {
      return ScoreDerivatives{0.1 * static_cast<double>(i % 7) - 0.3, 0.2 * static_cast<double>(i % 5)};
    };
    std::vector<double> gradient(pass.gradient_size());
    pass.run(theta, 70, visit, gradient);
    expect_gradient(
        [&](const std::vector<double>& t) {
          double sum = 0;
          for (uint64_t i = 0; i < 70; ++i) {
            const ScoreDerivatives d = visit(i, 0, 0);
            sum += d.score * model.score(t, i, data.target[i]) + d.log_z * log_z_by_hand(model, t, i);
          }
          return sum;
        },
        theta, gradient, 1e-5, 1e-5);
  }
}

TEST(EnumerationPlan, CoversAllThreeWaysOfCutting) {
  EXPECT_GT(plan_enumeration(60000, 10, 7850, 4).chunks, 1u);
  const EnumerationPlan kept = plan_enumeration(20000, 10000, 2570000, 4);
  EXPECT_EQ(kept.chunks, 0u);
  EXPECT_TRUE(kept.keep_tiles);
  const EnumerationPlan again = plan_enumeration(1000, 10'000'000, 640'000'000, 4);
  EXPECT_FALSE(again.keep_tiles);
}

// Memory beyond data, parameters and one gradient: what the plan keeps, for sizes up to 10^7 classes.
TEST(EnumerationPlan, ScratchStaysBelow128MB) {
  for (const uint64_t rows : {1ull, 1000ull, 100'000'000ull}) {
    for (const uint32_t classes : {2u, 100u, 10'000u, 1'000'000u, 10'000'000u}) {
      for (const size_t features : {1ull, 100ull, 100'000ull}) {
        for (const size_t real : {4u, 8u}) {
          const size_t gradient = (features + 1) * classes;
          const EnumerationPlan plan = plan_enumeration(rows, classes, gradient, real);
          const uint64_t tiles = (classes + plan.tile - 1) / plan.tile;
          const uint64_t kept = plan.keep_tiles && plan.chunks == 0 ? plan.block * classes * real : 0;
          const uint64_t scratch = 16 * plan.block * plan.tile * real;  // 16 threads
          const uint64_t sums = plan.chunks == 0 ? plan.block * tiles * sizeof(LogSumExp) : 0;
          EXPECT_LE(plan.chunks * gradient * real + kept + scratch + sums, 128u << 20)
              << rows << " " << classes << " " << features << " " << real;
        }
      }
    }
  }
}

// The plan without kept tiles computes scores twice; forced here through a class count large enough.
TEST(Enumeration, RecomputedTilesGiveTheSameGradientAsTheDefinition) {
  const uint32_t classes = 300'000;
  const Dataset data = random_dataset({.rows = 3, .features = 2, .classes = classes}, 5);
  const Multiclass<float> model(data.features, classes, 2, {});
  ASSERT_FALSE(plan_enumeration(3, classes, model.gradient_size(), sizeof(float)).keep_tiles);
  const auto theta = random_vector<float>(model.parameters(), 3);
  const Enumeration<float> pass(model, data.target);
  std::vector<float> gradient(pass.gradient_size());
  std::vector<double> log_z(3);
  pass.run(
      theta, 3,
      [&](uint64_t i, double, double a) {
        log_z[i] = a;
        return ScoreDerivatives{-1, 1};
      },
      gradient);
  std::vector<double> expected(gradient.size());
  for (uint64_t i = 0; i < 3; ++i) {
    for (uint32_t k = 0; k < classes; ++k) {
      const double p = std::exp(model.score(theta, i, k) - log_z[i]) - (k == data.target[i] ? 1 : 0);
      for (uint32_t j = 0; j < 2; ++j)
        expected[j * classes + k] += p * static_cast<double>(data.features.dense.row(i)[j]);
      expected[2 * classes + k] += p;
    }
  }
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(expected[i] - static_cast<double>(gradient[i])));
  EXPECT_LT(worst, 2e-6);
}

TEST(Enumeration, UnnormalisedTailIsVisitedWithItsScoreAlone) {
  const Dataset data = random_dataset({.rows = 10, .features = 3, .classes = 4}, 6);
  const Multiclass<double> model(data.features, 4, 3, {});
  const auto theta = random_vector<double>(model.parameters(), 1);
  const Enumeration<double> pass(model, data.target);
  std::vector<double> gradient(pass.gradient_size()), expected(pass.gradient_size());
  pass.run(
      theta, 4,
      [&](uint64_t i, double score, double log_z) {
        EXPECT_NEAR(score, model.score(theta, i, data.target[i]), 1e-12);
        EXPECT_EQ(std::isnan(log_z), i >= 4);
        return ScoreDerivatives{1, 0};
      },
      gradient);
  for (uint64_t i = 0; i < 10; ++i) model.backward(i, data.target[i], 1, expected.data());
  for (size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-12);
}

// Promise: any number of threads, the same bits; both ways of parallelising.
TEST(Enumeration, SameBitsForAnyNumberOfThreads) {
  for (const uint32_t classes : {5u, 3000u}) {
    for (const bool sparse : {false, true}) {
      const Dataset data = random_dataset(
          {.rows = 700, .features = 300, .classes = classes, .sparse = sparse, .density = 0.05}, 8);
      const Multiclass<float> model(data.features, classes, 300, {});
      const auto theta = random_vector<float>(model.parameters(), 4, 0.2);
      const Enumeration<float> pass(model, data.target);
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3}) {
        const ThreadLimit limit(threads);
        std::vector<float> gradient(pass.gradient_size());
        pass.run(
            theta, 700,
            [](uint64_t, double, double log_z) {
              return ScoreDerivatives{-1, 1 + 0.2 * log_z};
            },
            gradient);
        results.push_back(std::move(gradient));
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_EQ(results[0], results[2]);
    }
  }
}

TEST(Enumeration, SummaryAgreesWithTheOracle) {
  const Dataset data = random_dataset({.rows = 80, .features = 10, .classes = 200}, 10);
  const Multiclass<double> model(data.features, 200, 10, {});
  const auto theta = random_vector<double>(model.parameters(), 5);
  const Enumeration<double> pass(model, data.target);
  pass.summarise(theta, [&](uint64_t i, const OutputSummary& s) {
    const double log_z = log_z_by_hand(model, theta, i), own = model.score(theta, i, data.target[i]);
    double expected = 0;
    uint64_t better = 0;
    for (uint32_t k = 0; k < 200; ++k) {
      const double score = model.score(theta, i, k);
      expected += std::exp(score - log_z) * score;
      better += score > own + 1e-12;
    }
    EXPECT_NEAR(s.log_z, log_z, 1e-10);
    EXPECT_NEAR(s.score, own, 1e-10);
    EXPECT_NEAR(s.log_prob, own - log_z, 1e-10);
    EXPECT_NEAR(s.entropy, log_z - expected, 1e-9);
    EXPECT_EQ(s.better, better);
    EXPECT_EQ(s.outputs, 200u);
  });
}

// Adding a constant to every score shifts A by it and leaves p unchanged.
TEST(Enumeration, ShiftInvariance) {
  EXPECT_TRUE(rc::check("shift invariance", [](uint16_t seed) {
    const Dataset data = random_dataset({.rows = 5, .features = 3, .classes = 6}, seed);
    const Multiclass<double> model(data.features, 6, 3, {});
    auto theta = random_vector<double>(model.parameters(), seed + 1u);
    const Enumeration<double> pass(model, data.target);
    std::vector<double> before(5), after(5);
    pass.run(theta, 5,
             [&](uint64_t i, double s, double a) {
               before[i] = s - a;
               return ScoreDerivatives{};
             },
             {});
    for (uint32_t k = 0; k < 6; ++k) theta[3 * 6 + k] += 12.5;
    pass.run(theta, 5,
             [&](uint64_t i, double s, double a) {
               after[i] = s - a;
               return ScoreDerivatives{};
             },
             {});
    for (int i = 0; i < 5; ++i) RC_ASSERT(std::abs(before[i] - after[i]) < 1e-10);
  }));
}

}  // namespace
}  // namespace selfnorm
