#include "audit/bounds/gap_bounds.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "experiments/theory/random_table.h"
#include "math/parallel.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Every output of every input with its probability under eta as weight: eta is the maximum of the likelihood
// of these examples (moment matching holds exactly), for any table.
class OwnExamples final : public ScoredExamples {
 public:
  OwnExamples(FeatureTable table, std::span<const double> eta)
      : table_(std::move(table)),
        inner_(scored_examples(table_, eta, std::vector<uint32_t>(table_.inputs))),
        log_p_(log_probabilities(table_, eta)) {}

  uint64_t examples() const override { return log_p_.size(); }
  double norm() const override { return inner_->norm(); }
  double radius() const override { return inner_->radius(); }
  void visit(uint64_t begin, uint64_t end,
             const std::function<void(uint64_t, const ScoredExample&)>& sink) const override {
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t x = i / table_.outputs;
      inner_->visit(x, x + 1, [&](uint64_t, ScoredExample e) {
        e.target = static_cast<uint32_t>(i % table_.outputs);
        e.weight = std::exp(log_p_[i]);
        sink(i, e);
      });
    }
  }

 private:
  FeatureTable table_;
  std::unique_ptr<ScoredExamples> inner_;
  std::vector<double> log_p_;
};

// (-l, V_m) at scale t, from the definitions.
struct Point {
  double nll = 0, square = 0;
};

Point at_scale(const ScoredExamples& examples, double t, double m) {
  Point p;
  double weight = 0;
  for (uint64_t i = 0; i < examples.examples(); ++i) {
    examples.visit(i, i + 1, [&](uint64_t, const ScoredExample& e) {
      double z = 0;
      for (size_t y = 0; y < e.scores.size(); ++y) {
        z += std::exp((e.log_carrier.empty() ? 0 : e.log_carrier[y]) + t * e.scores[y]);
      }
      const double own = t * e.scores[e.target] + (e.log_carrier.empty() ? 0 : e.log_carrier[e.target]);
      p.nll += e.weight * (std::log(z) - own);
      p.square += e.weight * (std::log(z) - m) * (std::log(z) - m);
      weight += e.weight;
    });
  }
  return {p.nll / weight, p.square / weight};
}

// One input, T = (1), (-1), label 0, eta = s: every quantity in closed form.
TEST(GapBounds, ByHand) {
  const FeatureTable table{1, 2, 1, {1, -1}, {}};
  const std::vector<double> eta{2};
  const GapBounds g = gap_bounds(*scored_examples(table, eta, {0}), 0.5);
  const double a = std::log(2 * std::cosh(2.0)), m = std::log(2.0);
  EXPECT_NEAR(g.m, m, 1e-15);
  EXPECT_DOUBLE_EQ(g.norm, 2);
  EXPECT_DOUBLE_EQ(g.radius, 1);
  EXPECT_DOUBLE_EQ(g.alpha, 0.25);
  EXPECT_NEAR(g.nll, a - 2, 1e-14);
  EXPECT_NEAR(g.rms, a - m, 1e-14);
  const double expected = 2 * std::tanh(2.0);
  EXPECT_NEAR(g.slope, 2 - expected, 1e-14);
  EXPECT_NEAR(g.kl, expected - a + m, 1e-14);
  EXPECT_NEAR(g.concavity, 0.75 * (m - a + 2), 1e-14);
  EXPECT_NEAR(g.theorem2, 0.75 * (expected - a + m), 1e-14);
  const double t = std::acosh(std::exp(0.5)) / 2;  // log cosh 2t = delta
  EXPECT_NEAR(g.path_scale, t, 2e-9);
  EXPECT_LE(g.path_rms, 0.5);
  EXPECT_NEAR(g.path_rms, 0.5, 1e-8);
  EXPECT_NEAR(g.path, (0.5 + m - 2 * t) - (a - 2), 1e-8);
  EXPECT_NEAR(g.proposition3, 0.75 * 0.75 / 2 * 16 * std::exp(-1.0), 1e-14);
  EXPECT_DOUBLE_EQ(g.b, 2);
  EXPECT_DOUBLE_EQ(g.c, 2);
  EXPECT_NEAR(g.proposition3_closed, 2 * 1.5 * 1.5 * std::exp(-1.0), 1e-14);
  EXPECT_EQ(g.ties, 0u);
}

// At a maximum of the likelihood, 4,000 random instances: the slope is 0, Theorem 2 is its concavity form,
// the path is below both and below Proposition 3, which is below its closed form; and alpha eta and t eta are
// feasible, so that these are bounds of the gap.
TEST(GapBounds, OrderOfTheBoundsAtAMaximum) {
  EXPECT_TRUE(rc::check("path <= Theorem 2, Proposition 3", [](uint32_t seed) {
    RandomStream random(seed);
    for (int i = 0; i < 40; ++i) {
      const FeatureTable table = random_table(random);
      const std::vector<double> eta =
          random_eta(table.features, std::pow(10, 2 * random.uniform() - 1), random);
      const OwnExamples examples(table, eta);
      const double delta = std::pow(10, 2 * random.uniform() - 1.5);
      const GapBounds g = gap_bounds(examples, delta);
      const double rounding = 1e-9 * (1 + g.norm * g.radius);
      RC_ASSERT(std::abs(g.slope) < rounding);
      RC_ASSERT(std::abs(g.concavity - g.theorem2) < rounding);
      RC_ASSERT(g.path >= -rounding);
      RC_ASSERT(g.path <= g.theorem2 + rounding);
      RC_ASSERT(g.path <= g.proposition3 + rounding);
      RC_ASSERT(g.proposition3 <= g.proposition3_closed * (1 + 1e-9) + rounding);
      RC_ASSERT(g.alpha > 0 && g.alpha <= g.path_scale && g.path_scale <= 1);
      RC_ASSERT(at_scale(examples, g.alpha, g.m).square <= delta * delta * (1 + 1e-9) + 1e-12);
      const Point path = at_scale(examples, g.path_scale, g.m);
      RC_ASSERT(path.square <= delta * delta * (1 + 1e-9));
      RC_ASSERT(std::abs(path.nll - g.nll - g.path) < rounding);
      RC_ASSERT(g.path_scale == 1 || at_scale(examples, g.path_scale + 1e-6, g.m).square > delta * delta);
    }
  }));
}

// Away from a maximum the concavity form holds, and so do Theorem 2 and Proposition 3 with the slope added.
TEST(GapBounds, AnyParametersWithTheSlopeAdded) {
  EXPECT_TRUE(rc::check("l(eta) - l(alpha eta) is below", [](uint32_t seed) {
    RandomStream random(seed);
    for (int i = 0; i < 40; ++i) {
      const FeatureTable table = random_table(random);
      std::vector<uint32_t> target(table.inputs);
      for (uint32_t& y : target) y = static_cast<uint32_t>(random.below(table.outputs));
      const auto examples = scored_examples(table, random_eta(table.features, 1, random), target);
      const double delta = std::pow(10, 2 * random.uniform() - 1.5);
      const GapBounds g = gap_bounds(*examples, delta);
      const double measured = at_scale(*examples, g.alpha, g.m).nll - g.nll;
      const double added = (1 - g.alpha) * g.slope;
      RC_ASSERT(measured <= g.concavity + 1e-9);
      RC_ASSERT(std::abs(g.theorem2 + added - g.concavity) < 1e-9);
      RC_ASSERT(measured <= g.proposition3 + added + 1e-9);
      RC_ASSERT(measured <= g.proposition3_closed * (1 + 1e-9) + added + 1e-9);
    }
  }));
}

TEST(GapBounds, PointsOfThePathAreThoseOfTheDefinition) {
  RandomStream random(4);
  const FeatureTable table = random_table(30, 4, 3, random);
  const OwnExamples examples(table, random_eta(table.features, 2, random));
  const GapBounds all = gap_bounds(examples, 0.1), closed = gap_bounds_at_alpha(examples, 0.1);
  EXPECT_EQ(closed.concavity, all.concavity);
  EXPECT_EQ(closed.proposition3, all.proposition3);
  EXPECT_EQ(closed.path_scale, 0);
  const std::vector<double> scales{0, 0.3, all.path_scale, 1};
  const std::vector<PathPoint> points = path_points(examples, scales);
  for (size_t j = 0; j < scales.size(); ++j) {
    const Point expected = at_scale(examples, scales[j], all.m);
    EXPECT_EQ(points[j].scale, scales[j]);
    EXPECT_NEAR(points[j].nll, expected.nll, 1e-12);
    EXPECT_NEAR(points[j].rms, std::sqrt(expected.square), 1e-7);
  }
  EXPECT_NEAR(points[2].nll - points[3].nll, all.path, 1e-12);
}

// Scores (1, -3): A(t) - log 2 falls to -0.131 before it rises, so V_m(t eta) <= 0.1^2 near 0, not at
// t = 0.27, and again around the zero at t = 0.6. The largest t is where A - log 2 = 0.1.
TEST(GapBounds, ThePathIsNotMonotone) {
  const FeatureTable table{1, 2, 1, {1, -3}, {}};
  const auto examples = scored_examples(table, std::vector<double>{1}, {0});
  const double m = std::log(2.0);
  EXPECT_GT(at_scale(*examples, 0.27, m).square, 0.01);
  EXPECT_LT(at_scale(*examples, 0.6, m).square, 0.01);
  const GapBounds g = gap_bounds(*examples, 0.1);
  EXPECT_NEAR(g.alpha, 0.1 / 3, 1e-15);
  EXPECT_GT(g.path_scale, 0.6);
  EXPECT_NEAR(std::log((std::exp(g.path_scale) + std::exp(-3 * g.path_scale)) / 2), 0.1, 1e-8);
}

TEST(GapBounds, NothingToPayWhenDeltaIsLarge) {
  RandomStream random(7);
  const FeatureTable table = random_table(5, 3, 2, random);
  const OwnExamples examples(table, std::vector<double>{1, 1});
  const GapBounds g = gap_bounds(examples, 100);
  EXPECT_EQ(g.alpha, 1);
  EXPECT_EQ(g.path_scale, 1);
  for (const double bound : {g.path, g.theorem2, g.concavity, g.proposition3, g.proposition3_closed}) {
    EXPECT_EQ(bound, 0);
  }
  const GapBounds uniform = gap_bounds(OwnExamples(table, std::vector<double>{0, 0}), 1e-6);
  EXPECT_EQ(uniform.alpha, 1);
  EXPECT_EQ(uniform.path, 0);
  EXPECT_EQ(uniform.ties, 15u);
}

TEST(GapBounds, TiesAreCountedAndTheExponentIsThenZero) {
  const FeatureTable table{2, 3, 1, {1, 1, 0, 2, 1, 0}, {}};
  const GapBounds g = gap_bounds(*scored_examples(table, std::vector<double>{3}, {0, 0}), 0.5);
  EXPECT_EQ(g.ties, 1u);
  EXPECT_EQ(g.c, 0);
  EXPECT_GT(g.proposition3_closed, 0);
}

// A carrier of -inf is an output that is not there.
TEST(GapBounds, OutputsThatDoNotExist) {
  const FeatureTable two{1, 2, 1, {1, -1}, {}};
  const FeatureTable three{1, 3, 1, {1, -1, 0.5}, {0, 0, -std::numeric_limits<double>::infinity()}};
  const std::vector<double> eta{2};
  const GapBounds a = gap_bounds(*scored_examples(two, eta, {0}), 0.5);
  const GapBounds b = gap_bounds(*scored_examples(three, eta, {0}), 0.5);
  EXPECT_EQ(a.m, b.m);
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.theorem2, b.theorem2);
  EXPECT_EQ(a.proposition3_closed, b.proposition3_closed);
}

// A multiclass model and its block features are the same examples; a weight is a number of copies.
TEST(GapBounds, MulticlassDataIsItsFeatureTable) {
  Dataset data = random_dataset({.rows = 90, .features = 3, .classes = 4}, 5);
  const auto theta = random_vector<double>(16, 6);
  const GapBounds g = gap_bounds(*scored_examples(data, theta, {}), 0.3);
  DenseMatrix with_constant{90, 4, {}};
  for (uint64_t i = 0; i < 90; ++i) {
    for (const float v : data.features.dense.row(i)) with_constant.values.push_back(v);
    with_constant.values.push_back(1);
  }
  std::vector<double> eta(16);
  for (uint32_t j = 0; j < 4; ++j) {
    double mean = 0;
    for (uint32_t k = 0; k < 4; ++k) mean += theta[j * 4 + k] / 4;
    for (uint32_t k = 0; k < 4; ++k) eta[k * 4 + j] = theta[j * 4 + k] - mean;
  }
  const FeatureTable table = multiclass_table(with_constant, 4);
  const GapBounds t = gap_bounds(*scored_examples(table, eta, {data.target.begin(), data.target.end()}), 0.3);
  EXPECT_NEAR(g.norm, t.norm, 1e-12);
  EXPECT_NEAR(g.radius, t.radius, 1e-12);
  EXPECT_NEAR(g.theorem2, t.theorem2, 1e-10);
  EXPECT_NEAR(g.path, t.path, 1e-8);
  EXPECT_NEAR(g.proposition3, t.proposition3, 1e-10);
  EXPECT_NEAR(g.proposition3_closed, t.proposition3_closed, 1e-8);

  std::vector<uint64_t> twice;
  for (uint64_t i = 0; i < 90; ++i) twice.insert(twice.end(), i % 2 + 1, i);
  const GapBounds copies = gap_bounds(*scored_examples(subset(data, twice), theta, {}), 0.3);
  for (uint64_t i = 0; i < 90; ++i) data.weight.push_back(static_cast<float>(i % 2 + 1));
  const GapBounds weighted = gap_bounds(*scored_examples(data, theta, {}), 0.3);
  EXPECT_NEAR(weighted.nll, copies.nll, 1e-12);
  EXPECT_NEAR(weighted.path, copies.path, 1e-8);
  EXPECT_NEAR(weighted.theorem2, copies.theorem2, 1e-12);
}

TEST(GapBounds, SameBitsForAnyNumberOfThreads) {
  const Dataset data = random_dataset({.rows = 1000, .features = 4, .classes = 5}, 8);
  const auto theta = random_vector<double>(25, 9);
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return gap_bounds(*scored_examples(data, theta, {}), 0.2);
  };
  const GapBounds one = with(1), two = with(2);
  EXPECT_EQ(one.path, two.path);
  EXPECT_EQ(one.theorem2, two.theorem2);
  EXPECT_EQ(one.proposition3, two.proposition3);
}

TEST(GapBounds, RefusesWhatTheTheoremsAreNotAbout) {
  const Dataset groups = random_groups(20, 3, 1);
  EXPECT_THROW(gap_bounds(*scored_examples(groups, {1, 1, 1}, {}), 0.5), Error);
  Dataset data = random_dataset({.rows = 5, .features = 2, .classes = 3}, 2);
  const auto theta = random_vector<double>(9, 3);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(gap_bounds(*scored_examples(data, theta, {}), bad), Error);
  }
  data.weight.assign(5, 0);
  EXPECT_THROW(gap_bounds(*scored_examples(data, theta, {}), 0.5), Error);
}

}  // namespace
}  // namespace selfnorm
