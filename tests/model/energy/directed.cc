#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "model/energy/make_energy.h"

namespace selfnorm {
namespace {

std::unique_ptr<Energy> energy_on(const DirectionMap& map) {
  EnergyPlan plan;
  plan.word = "mlp:7,5";
  plan.dimension = map.dimension();
  plan.space = map.support();
  plan.seed = 3;
  auto energy = make_energy(plan);
  for (float& t : energy->parameters()) t *= 3;
  energy->parameters_changed();
  return energy;
}

double score_at(const Energy& energy, std::vector<float> x) {
  double s = 0;
  energy.score({x.data(), 1, energy.dimension()}, {&s, 1});
  return s;
}

TEST(DirectedEnergy, HasNoEndAndNoPole) {
  const auto torus = energy_on(DirectionMap::angles({true, true}));
  const auto pi = std::numbers::pi_v<float>;
  EXPECT_NEAR(score_at(*torus, {-pi, 1}), score_at(*torus, {pi, 1}), 1e-5);
  const auto sphere = energy_on(DirectionMap::sphere());
  EXPECT_NEAR(score_at(*sphere, {0.3f, 1}), score_at(*sphere, {2.3f, 1}), 1e-5);
}

TEST(DirectedEnergy, Derivatives) {
  for (const DirectionMap& map : {DirectionMap::sphere(), DirectionMap::angles({true, false})}) {
    const auto energy = energy_on(map);
    const std::vector<float> x{0.5f, 0.25f}, v{1, -0.5f};
    const float h = 0x1p-5f;
    std::vector<double> s(1), first(1), second(1);
    std::vector<float> dx(2);
    energy->score_gradient({x.data(), 1, 2}, s, dx);
    energy->directional({x.data(), 1, 2}, {v.data(), 1, 2}, first, second);
    const auto along = [&](float t) { return score_at(*energy, {x[0] + t * v[0], x[1] + t * v[1]}); };
    const double slope = (along(h) - along(-h)) / (2 * static_cast<double>(h));
    EXPECT_NEAR(first[0], slope, 2e-3 * (1 + std::abs(slope)));
    EXPECT_NEAR(static_cast<double>(dx[0] * v[0] + dx[1] * v[1]), first[0], 1e-5 * (1 + std::abs(slope)));
    EXPECT_NEAR(second[0], (along(h) + along(-h) - 2 * along(0)) / static_cast<double>(h * h),
                2e-2 * (1 + std::abs(second[0])));
    // d/dtheta of first + 0.5 second.
    std::vector<float> gradient(energy->parameters().size());
    const std::vector<double> one{1}, half{0.5};
    energy->directional_backward({x.data(), 1, 2}, {v.data(), 1, 2}, one, half, gradient);
    for (const size_t i : {size_t{0}, gradient.size() / 2, gradient.size() - 1}) {
      const auto value = [&](float step) {
        energy->parameters()[i] += step;
        energy->parameters_changed();
        energy->directional({x.data(), 1, 2}, {v.data(), 1, 2}, first, second);
        energy->parameters()[i] -= step;
        energy->parameters_changed();
        return first[0] + 0.5 * second[0];
      };
      const double numeric = (value(h) - value(-h)) / (2 * static_cast<double>(h));
      EXPECT_NEAR(static_cast<double>(gradient[i]), numeric, 1e-2 * (1 + std::abs(numeric))) << i;
    }
  }
}

TEST(DirectedEnergy, IsStored) {
  for (const DirectionMap& map : {DirectionMap::sphere(), DirectionMap::angles({true, false})}) {
    const auto energy = energy_on(map), again = make_energy(energy->record());
    EXPECT_EQ(score_at(*energy, {0.5f, 0.25f}), score_at(*again, {0.5f, 0.25f}));
    EXPECT_EQ(again->support().wraps, map.support().wraps);
  }
}

TEST(DirectedEnergy, SeesLevelsAsIndicators) {
  const DirectionMap map = DirectionMap::mixed({false, false, true}, {0, 4, 0});
  EXPECT_EQ(map.features(), 6u);
  const auto energy = energy_on(map), again = make_energy(energy->record());
  std::vector<double> seen(6);
  const std::vector<float> x{0.5f, 2, 1};
  map.apply(x.data(), seen.data());
  EXPECT_EQ(std::vector<double>(seen.begin(), seen.begin() + 4), (std::vector<double>{0.5, 0, 1, 0}));
  EXPECT_NEAR(seen[4], std::cos(1), 1e-7);
  EXPECT_EQ(score_at(*energy, x), score_at(*again, x));
  EXPECT_TRUE(again->support().is_mixed());
  EXPECT_EQ(again->support().levels, (std::vector<uint32_t>{0, 4, 0}));
}

}  // namespace
}  // namespace selfnorm
