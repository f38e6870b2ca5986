#include "objective/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gradient_check.h"
#include "normalizer/problem.h"
#include "objective/registry.h"
#include "random_data.h"

namespace selfnorm {
namespace {

// The whole CRF objective x normalizer x model, for every objective and both families, by differences.
TEST(Loss, GradientOfTheWholeCrf) {
  for (const std::string& name : objective_names()) {
    const auto objective = make_objective({.name = name, .alpha = 0.5, .gamma = 0.5});
    for (const bool joint : {false, true}) {
      const Dataset data =
          joint ? random_groups(20, 3, 1) : random_dataset({.rows = 20, .features = 3, .classes = 4}, 1);
      const uint32_t classes = joint ? 0 : 4;
      const auto pass = make_exact_pass<double>(data, 3, classes, {});
      const auto theta = random_vector<double>(pass->parameters(), 2);
      std::vector<float> weight(20, 1);
      weight[3] = 2.5f;
      weight[4] = 0;
      LossQuery query{.weight = weight, .centre = 0.2, .gradient_scale = 0.1};
      if (objective->normalised_fraction() < 1) query.normalised = 10;
      std::vector<double> gradient(pass->gradient_size());
      const LossSum sum = value_and_gradient<double>(*pass, *objective, query, theta, gradient);
      expect_gradient(
          [&](const std::vector<double>& t) {
            const LossSum s = value_and_gradient<double>(*pass, *objective, query, t, {});
            return 0.1 * (s.likelihood + s.penalty);
          },
          theta, gradient);
      EXPECT_NEAR(sum.weight, 20.5, 1e-12);
    }
  }
}

// Sum of shards = whole, values and gradients.
// A - b in the place of A, and nothing else changes.
TEST(Loss, AFunctionOfTheInputsIsSubtractedFromLogZ) {
  const Dataset data = random_dataset({.rows = 90, .features = 4, .classes = 5}, 3);
  const auto theta = random_vector<double>(25, 4);
  const auto pass = make_exact_pass<double>(data, 4, 5, {});
  const auto exact = make_objective({.name = "exact"});
  const std::vector<double> b = random_vector<double>(90, 5);
  const LossSum plain = value_and_gradient<double>(*pass, *exact, {.centre = 0.5}, theta, {});
  const LossSum less = value_and_gradient<double>(*pass, *exact, {.centre = 0.5, .normalizer = b}, theta, {});
  double sum = 0, square = 0;
  pass->summarise(theta, [&](uint64_t i, const OutputSummary& row) {
    sum += row.log_z - b[i];
    square += (row.log_z - b[i] - 0.5) * (row.log_z - b[i] - 0.5);
  });
  EXPECT_NEAR(less.log_z, sum, 1e-9);
  EXPECT_NEAR(less.log_z_square, square, 1e-9);
  EXPECT_EQ(less.nll, plain.nll);
  EXPECT_EQ(less.likelihood, plain.likelihood);
}

TEST(Loss, ShardsAddUpToTheWhole) {
  const Dataset data = random_dataset({.rows = 90, .features = 4, .classes = 5, .sparse = true}, 3);
  const auto objective = make_objective({.name = "penalty"});
  const auto theta = random_vector<double>(5 * 5, 4);
  std::vector<double> whole_gradient(25), shard_gradient(25);
  const auto pass = make_exact_pass<double>(data, 4, 5, {});
  const LossSum whole = value_and_gradient<double>(*pass, *objective, {}, theta, whole_gradient);
  LossSum shards;
  for (uint64_t first = 0; first < 90; first += 40) {
    std::vector<uint64_t> rows;
    for (uint64_t i = first; i < std::min<uint64_t>(90, first + 40); ++i) rows.push_back(i);
    const Dataset shard = subset(data, rows);
    shards += value_and_gradient<double>(*make_exact_pass<double>(shard, 4, 5, {}), *objective, {}, theta,
                                         shard_gradient);
  }
  EXPECT_NEAR(shards.nll, whole.nll, 1e-10);
  EXPECT_NEAR(shards.penalty, whole.penalty, 1e-10);
  EXPECT_NEAR(shards.rms_log_z(), whole.rms_log_z(), 1e-12);
  for (size_t i = 0; i < 25; ++i) EXPECT_NEAR(shard_gradient[i], whole_gradient[i], 1e-10);
}

}  // namespace
}  // namespace selfnorm
