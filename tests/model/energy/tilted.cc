#include "model/energy/tilted.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "model/energy/mlp.h"
#include "proposal/density/make_density.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::test {
namespace {

constexpr uint32_t kTiltedColumns = 2;

std::vector<float> normal_rows(uint64_t rows, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> out(rows * kTiltedColumns);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

struct Tilted {
  std::unique_ptr<Energy> alone;  // the same tilt without the base
  TiltedEnergy energy;

  explicit Tilted(const std::string& base)
      : alone(make_mlp(kTiltedColumns, {.widths = {8, 8}}, 3)),
        energy(make_mlp(kTiltedColumns, {.widths = {8, 8}}, 3), fitted(base)) {
    // Away from the starting point, where a network may be 0.
    RandomStream random(5);
    for (size_t i = 0; i < alone->parameters().size(); ++i) {
      alone->parameters()[i] = energy.parameters()[i] = static_cast<float>(random.normal() / 2);
    }
    alone->parameters_changed();
    energy.parameters_changed();
  }

  static std::shared_ptr<const Density> fitted(const std::string& word) {
    const std::vector<float> rows = normal_rows(200, 1);
    return fit_density(word, {rows.data(), 200, kTiltedColumns});
  }
};

TEST(Tilted, ScoresAreTheSumOfTiltAndLogBase) {
  const Tilted tilted("gaussian");
  const std::vector<float> rows = normal_rows(600, 2);
  const Points x{rows.data(), 600, kTiltedColumns};
  std::vector<double> f(x.rows), base(x.rows), s(x.rows), also(x.rows);
  std::vector<float> dx(x.size());
  tilted.alone->score(x, f);
  tilted.energy.base()->log_prob(x, base);
  tilted.energy.score(x, s);
  tilted.energy.score_gradient(x, also, dx);
  const auto pass = tilted.energy.make_pass();
  const std::span<const double> forward = pass->forward(x);
  for (size_t i = 0; i < x.rows; ++i) {
    EXPECT_NEAR(s[i], f[i] + base[i], 1e-6 * (1 + std::abs(s[i])));
    EXPECT_NEAR(also[i], s[i], 1e-5 * (1 + std::abs(s[i])));
    EXPECT_NEAR(forward[i], s[i], 1e-5 * (1 + std::abs(s[i])));
  }
}

TEST(Tilted, DerivativesAlongADirectionAreThoseOfTheScore) {
  const Tilted tilted("gaussian");
  const std::vector<float> rows = normal_rows(40, 3), directions = normal_rows(40, 4);
  const Points x{rows.data(), 40, kTiltedColumns}, v{directions.data(), 40, kTiltedColumns};
  std::vector<double> s(x.rows), first(x.rows), second(x.rows), only(x.rows);
  std::vector<float> dx(x.size());
  tilted.energy.score_gradient(x, s, dx);
  tilted.energy.directional(x, v, first, second);
  tilted.energy.directional(x, v, only, {});
  EXPECT_EQ(first, only);

  // first = v . ds/dx; second by central differences of it.
  constexpr float kStep = 1e-2f;
  const auto shifted = [&](float step) {
    std::vector<float> moved = rows;
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * directions[i];
    std::vector<double> out(x.rows);
    tilted.energy.directional({moved.data(), x.rows, kTiltedColumns}, v, out, {});
    return out;
  };
  const std::vector<double> above = shifted(kStep), below = shifted(-kStep);
  for (size_t i = 0; i < x.rows; ++i) {
    const double along = double{dx[2 * i]} * v.row(i)[0] + double{dx[2 * i + 1]} * v.row(i)[1];
    EXPECT_NEAR(first[i], along, 1e-4 * (1 + std::abs(along)));
    EXPECT_NEAR(second[i], (above[i] - below[i]) / (2 * kStep), 2e-2 * (1 + std::abs(second[i])));
  }
}

TEST(Tilted, TheBaseIsConstantInTheParameters) {
  const Tilted tilted("gaussian");
  const std::vector<float> rows = normal_rows(50, 6), directions = normal_rows(50, 7);
  const Points x{rows.data(), 50, kTiltedColumns}, v{directions.data(), 50, kTiltedColumns};
  std::vector<double> d(x.rows);
  for (size_t i = 0; i < d.size(); ++i) d[i] = std::sin(static_cast<double>(i));
  const auto gradients = [&](const Energy& energy) {
    std::vector<float> gradient(energy.parameters().size());
    const auto pass = energy.make_pass();
    pass->forward(x);
    pass->backward(d, gradient);
    energy.directional_backward(x, v, d, d, gradient);
    energy.directional_backward(x, v, d, {}, gradient);
    return gradient;
  };
  EXPECT_EQ(gradients(tilted.energy), gradients(*tilted.alone));
}

TEST(Tilted, OutsideTheBaseScoresAreMinusInfinityAndDerivativesZero) {
  const Tilted tilted("uniform");
  const std::vector<float> rows = {0.1f, -0.2f, 1e6f, 0, 0, -3e38f}, directions = {1, 0, 1, 0, 1, 0};
  const Points x{rows.data(), 3, kTiltedColumns}, v{directions.data(), 3, kTiltedColumns};
  std::vector<double> s(3), also(3), first(3), second(3);
  std::vector<float> dx(x.size());
  tilted.energy.score(x, s);
  tilted.energy.score_gradient(x, also, dx);
  tilted.energy.directional(x, v, first, second);
  const auto pass = tilted.energy.make_pass();
  const std::span<const double> forward = pass->forward(x);
  EXPECT_TRUE(std::isfinite(s[0]) && std::isfinite(also[0]) && std::isfinite(forward[0]));
  EXPECT_NE(dx[0], 0);
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(s[i], -kInfinity);
    EXPECT_EQ(also[i], -kInfinity);
    EXPECT_EQ(forward[i], -kInfinity);
    EXPECT_EQ(dx[2 * i], 0);
    EXPECT_EQ(dx[2 * i + 1], 0);
    EXPECT_EQ(first[i], 0);
    EXPECT_EQ(second[i], 0);
  }

  // Rows outside give the parameters no gradient, whatever the derivative.
  const std::vector<double> d = {1, 5, -2}, inside = {1, 0, 0};
  const size_t n = tilted.energy.parameters().size();
  std::vector<float> gradient(n), expected(n);
  pass->backward(d, gradient);
  tilted.energy.directional_backward(x, v, d, d, gradient);
  const Points one = x.slice(0, 1), along = v.slice(0, 1);
  const auto alone = tilted.alone->make_pass();
  alone->forward(one);
  alone->backward(std::span(inside).first(1), expected);
  tilted.alone->directional_backward(one, along, std::span(inside).first(1), std::span(inside).first(1),
                                     expected);
  for (size_t i = 0; i < n; ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
}

TEST(Tilted, BitsDoNotDependOnTheNumberOfThreads) {
  const Tilted tilted("mixture:4");
  const std::vector<float> rows = normal_rows(3000, 8);
  const Points x{rows.data(), 3000, kTiltedColumns};
  const auto scores = [&](int threads) {
    const ThreadLimit limit(threads);
    std::vector<double> s(x.rows);
    std::vector<float> dx(x.size());
    tilted.energy.score_gradient(x, s, dx);
    return std::pair(s, dx);
  };
  EXPECT_EQ(scores(1), scores(4));
}

TEST(Tilted, DimensionsHaveToAgree) {
  EXPECT_THROW(TiltedEnergy(make_mlp(3, {.widths = {4}}, 0), Tilted::fitted("gaussian")), Bug);
}

}  // namespace
}  // namespace selfnorm::test
