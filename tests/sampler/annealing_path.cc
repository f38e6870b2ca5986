#include "sampler/annealing_path.h"

#include <gtest/gtest.h>

#include "model/energy/tilted.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

std::vector<float> random_rows(size_t n) {
  RandomStream random(3);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.normal());
  return x;
}

TEST(AnnealingPath, FromLogQToTheScore) {
  const SmallEnergy energy = bumps(2, {{-1, 0}, {1, 0.5}});
  const SmallNormal q(2, 0.3, 1.7);
  const std::vector<float> rows = random_rows(600);
  const Points x{rows.data(), 300, 2};
  PathValues values;
  AnnealingPath(energy, q).evaluate(x, values);
  std::vector<double> s(300), log_q(300);
  energy.score(x, s);
  q.log_prob(x, log_q);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(values.at(0, i), log_q[i]);
    EXPECT_NEAR(values.at(1, i), s[i], 1e-12);
    EXPECT_NEAR(values.at(0.25, i), 0.75 * log_q[i] + 0.25 * s[i], 1e-12);
  }
}

// The same path whether log q cancels or not, and gradients by central differences.
TEST(AnnealingPath, TiltsAndGradients) {
  const auto base = std::make_shared<SmallNormal>(2, 0.3, 1.7);
  const TiltedEnergy energy(std::make_unique<SmallEnergy>(quadratic({1, 0}, {2, 0.5})), base);
  const SmallNormal copy(2, 0.3, 1.7);  // another object: nothing cancels
  const std::vector<float> rows = random_rows(600);
  const Points x{rows.data(), 300, 2};
  PathValues tilted, plain, alone;
  AnnealingPath(energy, *base).evaluate_gradient(x, tilted);
  AnnealingPath(energy, copy).evaluate_gradient(x, plain);
  AnnealingPath(energy).evaluate_gradient(x, alone);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(tilted.weight[i], plain.weight[i], 1e-9);
    EXPECT_NEAR(tilted.at(1, i), alone.at(1, i), 1e-9);
  }
  for (size_t k = 0; k < 600; ++k) {
    EXPECT_NEAR(tilted.weight_gradient[k], plain.weight_gradient[k], 1e-4);
    EXPECT_NEAR(tilted.start_gradient[k] + tilted.weight_gradient[k], alone.weight_gradient[k], 1e-4);
  }
  for (size_t k = 0; k < 20; ++k) {
    std::vector<float> up = rows, down = rows;
    up[k] += 1e-2f;
    down[k] -= 1e-2f;
    PathValues above, below;
    AnnealingPath(energy, *base).evaluate({up.data(), 300, 2}, above);
    AnnealingPath(energy, *base).evaluate({down.data(), 300, 2}, below);
    const double width = static_cast<double>(up[k]) - static_cast<double>(down[k]);
    EXPECT_NEAR((above.at(0.4, k / 2) - below.at(0.4, k / 2)) / width,
                tilted.start_gradient[k] + 0.4 * tilted.weight_gradient[k], 1e-3);
  }
}

TEST(AnnealingPath, ForbiddenPointsAreForbiddenAlongTheWholePath) {
  const Support box = Support::box({0}, {1});
  const SmallEnergy energy = quadratic({0}, {1}, 0, box);
  const SmallUniform q(box);
  const std::vector<float> rows = {0.5f, 2};
  PathValues values;
  AnnealingPath(energy, q).evaluate_gradient({rows.data(), 2, 1}, values);
  for (const double beta : {0.0, 0.5, 1.0}) {
    EXPECT_TRUE(std::isfinite(values.at(beta, 0)));
    EXPECT_EQ(values.at(beta, 1), -HUGE_VAL);
  }
}

// A score of -inf where q is positive.
TEST(AnnealingPath, ImpossiblePointsOfTheEnergyAreForbiddenAlongTheWholePath) {
  const SmallEnergy energy(1, Support::reals(),
                           [](std::span<const float>, std::span<double>) { return -HUGE_VAL; });
  const SmallNormal q(1, 0, 1);
  const float x = 0;
  PathValues values;
  AnnealingPath(energy, q).evaluate({&x, 1, 1}, values);
  for (const double beta : {0.0, 0.5, 1.0}) EXPECT_EQ(values.at(beta, 0), -HUGE_VAL);
}

TEST(AnnealingPath, WhatDoesNotFit) {
  const SmallEnergy energy = quadratic({0}, {1});
  EXPECT_THROW(AnnealingPath(energy, SmallNormal(2, 0, 1)), Error);
  EXPECT_THROW(AnnealingPath(energy, SmallUniform(Support::box({0}, {1}))), Error);
  EXPECT_THROW(AnnealingPath(cycle(2, 3, 0, 0), SmallUniform(Support::binary(2))), Error);
  EXPECT_NO_THROW(AnnealingPath(cycle(2, 2, 0, 0), SmallUniform(cycle(2, 3, 0, 0).support())));
}

}  // namespace
}  // namespace selfnorm
