#include "experiments/theory/feature_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/theory/random_table.h"
#include "model/multiclass.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

TEST(FeatureTable, ProbabilitiesByHand) {
  const FeatureTable table{1, 3, 1, {0, 1, 5}, {0, std::log(2.0), -kInfinity}};
  const std::vector<double> eta{1};
  const double z = 1 + 2 * std::exp(1.0);
  EXPECT_NEAR(log_normalizers(table, eta)[0], std::log(z), 1e-14);
  const std::vector<double> p = log_probabilities(table, eta);
  EXPECT_NEAR(p[0], -std::log(z), 1e-14);
  EXPECT_NEAR(p[1], std::log(2 * std::exp(1.0) / z), 1e-14);
  EXPECT_EQ(p[2], -kInfinity);
}

TEST(FeatureTable, ProbabilitiesSumToOne) {
  RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const FeatureTable table = random_table(random);
    const std::vector<double> p = log_probabilities(table, random_eta(table.features, 3, random));
    for (uint64_t x = 0; x < table.inputs; ++x) {
      double sum = 0;
      for (uint32_t y = 0; y < table.outputs; ++y) sum += std::exp(p[x * table.outputs + y]);
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

// The block features are the multiclass model.
TEST(FeatureTable, MulticlassScores) {
  const Dataset data = random_dataset({.rows = 7, .features = 3, .classes = 4}, 5);
  RandomStream random(6);
  const std::vector<double> eta = random_eta(12, 1, random);
  std::vector<double> theta(4 * 4);  // feature-major, biases 0
  for (uint32_t k = 0; k < 4; ++k)
    for (uint32_t j = 0; j < 3; ++j) theta[j * 4 + k] = eta[k * 3 + j];
  const std::vector<double> s = scores(multiclass_table(data.features.dense, 4), eta);
  std::vector<double> expected(7 * 4);
  Multiclass<double>(data.features, 4, 3, {}).scores(theta, {0, 7}, {0, 4}, expected.data());
  for (size_t i = 0; i < s.size(); ++i) EXPECT_NEAR(s[i], expected[i], 1e-12);
}

TEST(FeatureTable, RefusesWhatIsNoModel) {
  RandomStream random(2);
  const FeatureTable good = random_table(2, 3, 2, random);
  const std::vector<double> eta{1, 1};
  EXPECT_NO_THROW(log_normalizers(good, eta));
  const auto refused = [&](auto change) {
    FeatureTable table = good;
    change(table);
    EXPECT_THROW(log_normalizers(table, eta), Error);
  };
  refused([](FeatureTable& t) { t.inputs = 0; });
  refused([](FeatureTable& t) { t.values.pop_back(); });
  refused([](FeatureTable& t) { t.values[3] = std::nan(""); });
  refused([](FeatureTable& t) { t.log_carrier = {0, 0}; });
  refused([](FeatureTable& t) { t.log_carrier = {0, 0, kInfinity}; });
  refused([](FeatureTable& t) { t.log_carrier = {0, std::nan(""), 0}; });
  refused([](FeatureTable& t) { t.log_carrier.assign(3, -kInfinity); });
  EXPECT_THROW(scores(good, std::vector<double>{1}), Error);
  EXPECT_THROW(scores(good, std::vector<double>{1, kInfinity}), Error);
}

TEST(FeatureTable, AsScoredExamples) {
  RandomStream random(1);
  FeatureTable table = random_table(4, 3, 2, random);
  table.log_carrier = {0, 1, -std::numeric_limits<double>::infinity()};
  const std::vector<double> eta{3, 4};
  const auto examples = scored_examples(table, eta, {0, 1, 1, 0});
  EXPECT_EQ(examples->examples(), 4u);
  EXPECT_DOUBLE_EQ(examples->norm(), 5);
  double radius = 0;
  for (uint64_t x = 0; x < 4; ++x)
    for (uint32_t y = 0; y < 3; ++y) radius = std::max(radius, std::hypot(table(x, y)[0], table(x, y)[1]));
  EXPECT_DOUBLE_EQ(examples->radius(), radius);
  std::vector<double> all;
  examples->visit(0, 4, [&](uint64_t, const ScoredExample& e) {
    all.insert(all.end(), e.scores.begin(), e.scores.end());
  });
  EXPECT_EQ(all, scores(table, eta));
  examples->visit(1, 2, [&](uint64_t i, const ScoredExample& e) {
    EXPECT_EQ(i, 1u);
    EXPECT_EQ(e.target, 1u);
    EXPECT_EQ(e.weight, 1);
    EXPECT_EQ(e.log_carrier[1], 1);
  });
  EXPECT_THROW(scored_examples(table, eta, {0, 1}), Error);
  EXPECT_THROW(scored_examples(table, eta, {0, 1, 3, 0}), Error);
  EXPECT_THROW(scored_examples(table, eta, {0, 1, 2, 0}), Error);
}

}  // namespace
}  // namespace selfnorm
