#include "proposal/autoregressive/autoregressive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "proposal/autoregressive/autoregressive_fit.h"
#include "proposal/density/density_checks.h"

namespace selfnorm {
namespace {

using Kind = ConditionalHead::Kind;

Autoregressive random_density(std::vector<ConditionalHead> heads, std::vector<uint32_t> order, double size) {
  Autoregressive q({std::move(heads), std::move(order), {7, 5}});
  RandomStream random(8);
  std::vector<float> theta(q.parameters());
  for (float& t : theta) t = static_cast<float>(size * random.normal());
  q.set_theta(theta);
  return q;
}

Autoregressive levels_density() {
  return random_density({{Kind::levels, 2}, {Kind::levels, 3}, {Kind::levels, 2}, {Kind::levels, 4}},
                        {2, 0, 3, 1}, 1);
}

TEST(Autoregressive, LevelsSumToOneAndDrawsFollow) {
  const Autoregressive q = levels_density();
  std::vector<float> points;
  for (float a = 0; a < 2; ++a)
    for (float b = 0; b < 3; ++b)
      for (float c = 0; c < 2; ++c)
        for (float d = 0; d < 4; ++d) points.insert(points.end(), {a, b, c, d});
  const std::vector<double> log_q = log_probs(q, points);
  double sum = 0;
  for (const double l : log_q) sum += std::exp(l);
  EXPECT_NEAR(sum, 1, 1e-6);
  std::vector<float> rows(4 * 40000);
  sample_density(q, 2, rows, {});
  std::vector<double> count(48);
  for (size_t i = 0; i < rows.size(); i += 4)
    ++count[static_cast<size_t>(((rows[i] * 3 + rows[i + 1]) * 2 + rows[i + 2]) * 4 + rows[i + 3])];
  double statistic = 0;
  for (size_t c = 0; c < 48; ++c) {
    const double expected = 40000 * std::exp(log_q[c]);
    statistic += std::pow(count[c] - expected, 2) / expected;
  }
  EXPECT_LT(statistic, 47 + 4 * std::sqrt(2 * 47.0));
  EXPECT_EQ(log_prob_at(q, {0, 3, 0, 0}), -INFINITY);
  expect_round_trip(q);
}

TEST(Autoregressive, RealNumbersAndAnglesIntegrateToOne) {
  const Autoregressive real = random_density({{Kind::real, 3}, {Kind::real, 2}}, {1, 0}, 0.3);
  EXPECT_NEAR(grid_integral(real, -15, 15, 1000), 1, 2e-3);
  const Autoregressive angles = random_density({{Kind::angle, 3}, {Kind::angle, 2}}, {1, 0}, 0.8);
  EXPECT_NEAR(grid_integral(angles, -std::numbers::pi, std::numbers::pi, 200), 1, 1e-5);
  for (const Autoregressive* q : {&real, &angles}) {
    std::vector<double> log_q(1), gradient(2);
    const std::vector<float> x{0.3f, -0.8f};
    q->log_prob_gradient({x.data(), 1, 2}, log_q, gradient);
    EXPECT_NEAR(log_q[0], log_prob_at(*q, x), 1e-5);
    for (size_t j = 0; j < 2; ++j) {
      std::vector<float> up = x, down = x;
      up[j] += 0x1p-6f;
      down[j] -= 0x1p-6f;
      EXPECT_NEAR(gradient[j], (log_prob_at(*q, up) - log_prob_at(*q, down)) / 0x1p-5, 5e-3);
    }
    expect_round_trip(*q);
  }
}

// x_1 comes first: what x_0 sees of it ends at -1 and 0.5.
TEST(Autoregressive, NoColumnSeesBeyondTheEnds) {
  Autoregressive q({{{Kind::real, 3}, {Kind::real, 2}}, {1, 0}, {7, 5}, {-1, -1}, {0.5f, 0.5f}});
  RandomStream random(8);
  std::vector<float> theta(q.parameters());
  for (float& t : theta) t = static_cast<float>(0.5 * random.normal());
  q.set_theta(theta);
  EXPECT_NEAR(grid_integral(q, -15, 15, 1000), 1, 2e-3);
  const auto ratio = [&](float last) { return log_prob_at(q, {2, last}) - log_prob_at(q, {-2, last}); };
  EXPECT_NE(ratio(-1), ratio(0.5f));
  EXPECT_NEAR(ratio(0.5f), ratio(7), 1e-5);
  EXPECT_NEAR(ratio(-1), ratio(-1e6f), 1e-5);
  std::vector<double> log_q(1), gradient(2);
  const std::vector<float> x{0.3f, 3};
  q.log_prob_gradient({x.data(), 1, 2}, log_q, gradient);
  const double slope = (log_prob_at(q, {0.3f, 3 + 0x1p-6f}) - log_prob_at(q, {0.3f, 3 - 0x1p-6f})) / 0x1p-5;
  EXPECT_NEAR(gradient[1], slope, 5e-3);
  expect_round_trip(q);
  // Draws are those of the density: the share of x_0 > 0 given what it sees of the other.
  std::vector<float> rows(2 * 40000);
  sample_density(q, 2, rows, {});
  double above = 0, count = 0;
  for (size_t i = 0; i < rows.size(); i += 2) {
    if (rows[i + 1] < 0.5f) continue;
    ++count;
    above += rows[i] > 0 ? 1 : 0;
  }
  double share = 0, all = 0;
  for (int i = -3000; i < 3000; ++i) {
    const double p = std::exp(log_prob_at(q, {static_cast<float>(0.01 * (i + 0.5)), 0.5f}));
    all += p;
    if (i >= 0) share += p;
  }
  ASSERT_GT(count, 1000);
  EXPECT_NEAR(above / count, share / all, 5 * std::sqrt(0.25 / count));
}

TEST(Autoregressive, NumbersAndLevelsSumToOne) {
  const Autoregressive q = random_density({{Kind::real, 3}, {Kind::levels, 3}}, {1, 0}, 0.5);
  double sum = 0;
  for (float level = 0; level < 3; ++level)
    for (int i = 0; i < 6000; ++i)
      sum += std::exp(log_prob_at(q, {static_cast<float>(-30 + 0.01 * (i + 0.5)), level})) * 0.01;
  EXPECT_NEAR(sum, 1, 2e-3);
  EXPECT_TRUE(q.support().is_mixed());
  EXPECT_EQ(log_prob_at(q, {0, 0.5f}), -INFINITY);
  expect_round_trip(q);
}

TEST(Autoregressive, GradientByParameters) {
  const std::vector<std::vector<ConditionalHead>> all{
      {{Kind::levels, 2}, {Kind::levels, 3}, {Kind::levels, 2}},
      {{Kind::real, 2}, {Kind::levels, 3}, {Kind::angle, 2}}};
  for (const auto& heads : all) {
    Autoregressive q = random_density(heads, {1, 2, 0}, 0.7);
    const std::vector<float> rows{1, 2, 0, 0, 1, 1, 1, 0, 1};
    const Points x{rows.data(), 3, 3};
    std::vector<float> theta = q.theta(), gradient(theta.size());
    q.add_gradient(x, gradient, {});
    for (size_t i = 0; i < theta.size(); ++i) {
      if (!q.mask()[i]) {
        EXPECT_EQ(theta[i], 0);
        continue;
      }
      const auto at = [&](float step) {
        std::vector<float> moved = theta;
        moved[i] += step;
        q.set_theta(moved);
        double sum = 0;
        for (const double l : log_probs(q, rows)) sum += l / 3;
        return sum;
      };
      EXPECT_NEAR(static_cast<double>(gradient[i]), (at(0x1p-6f) - at(-0x1p-6f)) / 0x1p-5, 3e-3) << i;
    }
  }
}

TEST(AutoregressiveFit, ColumnsAreInTheirOrderAndEndWithTheData) {
  RandomStream random(3);
  std::vector<float> rows;
  for (int i = 0; i < 600; ++i) rows.push_back(static_cast<float>(random.normal()));
  const Points data{rows.data(), 100, 6};
  const std::vector<ConditionalHead> heads(6, {Kind::real, 2});
  const auto shape_of = [&](bool is_shuffled) {
    return fit_autoregressive(data, data, heads, {.widths = {4}, .epochs = 1, .is_shuffled = is_shuffled})
        .density->shape();
  };
  EXPECT_EQ(shape_of(false).order, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_NE(shape_of(true).order, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  float least = rows[2], most = rows[2];
  for (size_t i = 2; i < rows.size(); i += 6) {
    least = std::min(least, rows[i]);
    most = std::max(most, rows[i]);
  }
  EXPECT_EQ(shape_of(false).lower[2], least);
  EXPECT_EQ(shape_of(false).upper[2], most);
}

// A chain of bits, whose entropy is known.
TEST(AutoregressiveFit, LearnsAChain) {
  RandomStream random(6);
  std::vector<float> rows;
  for (int i = 0; i < 3000; ++i) {
    float x = random.uniform() < 0.5 ? 1 : 0;
    for (int j = 0; j < 5; ++j) rows.push_back(x = random.uniform() < 0.15 ? 1 - x : x);
  }
  const auto fit =
      fit_autoregressive({rows.data(), 3000, 5}, {}, std::vector<ConditionalHead>(5, {Kind::levels, 2}),
                         {.widths = {16, 16}, .epochs = 60});
  const double entropy = std::log(2) - 4 * (0.15 * std::log(0.15) + 0.85 * std::log(0.85));
  double nll = 0;
  for (const double l : log_probs(*fit.density, rows)) nll -= l / 3000;
  EXPECT_NEAR(nll, entropy, 0.1);  // independent bits have 3.47
}

}  // namespace
}  // namespace selfnorm
