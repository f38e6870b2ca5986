#include "audit/bounds/scored_examples.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/vector.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<double> all_scores(const ScoredExamples& examples) {
  std::vector<double> out;
  for (uint64_t begin = 0; begin < examples.examples(); begin += examples.block()) {
    const uint64_t end = std::min(examples.examples(), begin + examples.block());
    examples.visit(begin, end, [&](uint64_t, const ScoredExample& e) {
      out.insert(out.end(), e.scores.begin(), e.scores.end());
    });
  }
  return out;
}

// Equivalent parameters give the same examples, those of the smallest norm.
TEST(ScoredExamples, MulticlassInTheGaugeOfSmallestNorm) {
  for (const bool sparse : {false, true}) {
    Dataset data = random_dataset({.rows = 150, .features = 3, .classes = 4, .sparse = sparse}, 2);
    data.weight.assign(150, 0.5f);
    const std::vector<float> carrier{0, 1, 2, 3};
    const auto theta = random_vector<double>(16, 3);
    auto shifted = theta;
    for (size_t i = 0; i < shifted.size(); ++i) shifted[i] += 1 + static_cast<double>(i / 4);
    const auto a = scored_examples(data, theta, carrier), b = scored_examples(data, shifted, carrier);
    EXPECT_NEAR(a->norm(), b->norm(), 1e-12);
    EXPECT_LE(a->norm(), std::sqrt(inner_product<double>(theta, theta)));
    EXPECT_EQ(a->radius(), b->radius());
    const auto s = all_scores(*a), t = all_scores(*b);
    ASSERT_EQ(s.size(), 600u);
    for (size_t i = 0; i < s.size(); ++i) {
      EXPECT_NEAR(s[i], t[i], 1e-12);
      EXPECT_LE(std::abs(s[i]), a->norm() * a->radius());
    }
    a->visit(7, 8, [&](uint64_t, const ScoredExample& e) {
      EXPECT_NEAR(e.scores[0] + e.scores[1] + e.scores[2] + e.scores[3], 0, 1e-12);
      EXPECT_EQ(e.log_carrier[3], 3);
      EXPECT_EQ(e.target, data.target[7]);
      EXPECT_EQ(e.weight, 0.5);
    });
  }
}

TEST(ScoredExamples, OfGroups) {
  const Dataset data = random_groups(10, 3, 4);
  const std::vector<double> eta{1, -2, 0.5};
  const auto examples = scored_examples(data, eta, {});
  EXPECT_EQ(examples->examples(), 10u);
  EXPECT_NEAR(examples->norm(), std::sqrt(5.25), 1e-15);
  const auto s = all_scores(*examples);
  ASSERT_EQ(s.size(), data.features.rows());
  for (uint64_t row = 0; row < s.size(); ++row) {
    const auto x = data.features.dense.row(row);
    EXPECT_NEAR(s[row], double{x[0]} - 2 * double{x[1]} + 0.5 * double{x[2]}, 1e-6);
    EXPECT_LE(std::abs(s[row]), examples->norm() * examples->radius());
  }
}

TEST(ScoredExamples, RefusesWhatDoesNotFit) {
  Dataset data = random_dataset({.rows = 5, .features = 3, .classes = 2}, 1);
  EXPECT_THROW(scored_examples(data, std::vector<double>(7), {}), Error);
  EXPECT_THROW(scored_examples(data, std::vector<double>(6), {}), Error);
  EXPECT_NO_THROW(scored_examples(data, std::vector<double>(10), {}));  // a feature the data never has
  EXPECT_THROW(scored_examples(data, std::vector<double>(8), std::vector<float>{1}), Error);
  EXPECT_THROW(scored_examples(Dataset{}, {}, {}), Error);
  const auto infinite = scored_examples(
      data, std::vector<double>{1e308, -1e308, 1e308, -1e308, 1e308, -1e308, 1e308, -1e308}, {});
  EXPECT_THROW(all_scores(*infinite), Error);
  data.target.own()[2] = Dataset::kNoTarget;
  EXPECT_THROW(scored_examples(data, std::vector<double>(8), {}), Error);
}

}  // namespace
}  // namespace selfnorm
