#include "normalizer/sampling/annealing_schedule.h"

#include <gtest/gtest.h>

#include "small_energies.h"

namespace selfnorm {
namespace {

std::vector<double> betas_for(const SmallEnergy& energy, const SmallNormal& q, uint64_t temperatures) {
  AnnealedOptions options;
  options.temperatures = temperatures;
  const AnnealingPath path(energy, q);
  std::vector<float> x(options.pilot_chains * energy.dimension());
  sample_density(q, 1, x, {});
  HmcChains pilot(path, {x.data(), options.pilot_chains, energy.dimension()}, 2);
  AnnealingSchedule schedule(options, energy.dimension());
  schedule.fit(pilot);
  return schedule.betas();
}

TEST(AnnealingSchedule, RisesFromZeroToOne) {
  const std::vector<double> betas = betas_for(bumps(2, {{-2, 0}, {2, 0}}), SmallNormal(2, 0, 3), 60);
  ASSERT_EQ(betas.size(), 61u);
  EXPECT_EQ(betas.front(), 0);
  EXPECT_EQ(betas.back(), 1);
  for (size_t k = 1; k < betas.size(); ++k) EXPECT_LT(betas[k - 1], betas[k]);
}

// N(0, 1) to N(0, r^2): precision lambda = 1 - beta + beta / r^2, sd(weight) ~ 1 / lambda, so that equal
// lengths are equal ratios of lambda: half way, but for the linear tenth, lambda is the geometric mean 1 / r.
TEST(AnnealingSchedule, StopsWhereTheWeightVaries) {
  const double r = 0.1;
  const std::vector<double> betas =
      betas_for(quadratic(std::vector<double>(4, 0), std::vector<double>(4, r)), SmallNormal(4, 0, 1), 100);
  const double lambda = 1 - betas[50] + betas[50] / (r * r);
  EXPECT_GT(lambda, 0.75 / r);
  EXPECT_LT(lambda, 1.6 / r);
}

// Nothing varies: even steps are as good as any.
TEST(AnnealingSchedule, AnEnergyThatIsTheProposal) {
  const std::vector<double> betas = betas_for(quadratic({0}, {1}), SmallNormal(1, 0, 1), 10);
  for (size_t k = 1; k < betas.size(); ++k) EXPECT_LT(betas[k - 1], betas[k]);
}

}  // namespace
}  // namespace selfnorm
