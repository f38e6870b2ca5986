#include "selfnorm/analysis/density_log_z.h"

#include <gtest/gtest.h>

#include "selfnorm/model/energy/make_energy.h"
#include "selfnorm/model/energy/tilted.h"
#include "selfnorm/model/energy/zero.h"
#include "small_models.h"

namespace selfnorm {
namespace {

DensityModel gaussian(uint32_t d, double mean, double sd) {
  return small_model(quadratic(std::vector<double>(d, mean), std::vector<double>(d, sd)),
                     std::make_shared<SmallNormal>(d, 0, 1.5));
}

TEST(DensityLogZ, TheMethodThatApplies) {
  EXPECT_EQ(best_log_z(gaussian(2, 0, 1), {}).method, "quadrature");
  EXPECT_EQ(best_log_z(gaussian(4, 0, 1), {}).method, "importance");
  const SmallEnergy spins = cycle(5, 2, 0.1, 0.2);
  EXPECT_EQ(best_log_z(small_model(spins, std::make_shared<SmallUniform>(spins.support())), {}).method,
            "enumeration");
  const SmallEnergy many = cycle(30, 2, 0.1, 0.05);
  EXPECT_EQ(best_log_z(small_model(many, std::make_shared<SmallUniform>(many.support())), {}).method,
            "importance");
}

TEST(DensityLogZ, EveryMethodAgreesWithTheClosedForm) {
  const DensityModel model = gaussian(3, 0.3, 0.8);
  const double truth = 3 * log_normal_volume(0.8);
  for (const char* method : {"quadrature", "importance", "annealed"}) {
    const JudgedLogZ z = judged_log_z(model, {.method = method, .samples = 40'000});
    EXPECT_EQ(z.estimate.method, method);
    EXPECT_NEAR(z.estimate.value, truth, 0.04) << method;
    EXPECT_EQ(z.distrust, "") << method;
  }
}

TEST(DensityLogZ, ClosedForms) {
  DensityModel fitted = gaussian(6, 0, 1);
  fitted.base = fitted.proposal;
  fitted.energy = std::make_unique<TiltedEnergy>(make_zero_energy(6), fitted.base);
  EXPECT_EQ(best_log_z(fitted, {}).method, "closed-form");
  EXPECT_EQ(best_log_z(fitted, {}).value, 0);
  DensityModel family = gaussian(4, 0, 1);
  EnergyPlan plan;
  plan.word = "gaussian";
  plan.dimension = 4;
  family.energy = make_energy(plan);
  const LogZEstimate z = best_log_z(family, {});
  EXPECT_EQ(z.method, "closed-form");
  EXPECT_NEAR(z.value, best_log_z(family, {.method = "importance"}).value, 0.05);
}

// Ten dimensions far from the proposal: importance sampling is worth nothing, annealing is.
TEST(DensityLogZ, AnnealsWhereImportanceSamplingFails) {
  const DensityModel model = gaussian(8, 1, 0.4);
  const JudgedLogZ by_importance = judged_log_z(model, {.method = "importance", .samples = 10'000});
  EXPECT_NE(by_importance.distrust.find("effective samples"), std::string::npos);
  const JudgedLogZ z = judged_log_z(model, {.samples = 10'000});
  EXPECT_EQ(z.estimate.method, "annealed");
  EXPECT_EQ(z.distrust, "");
  EXPECT_NEAR(z.estimate.value, 8 * log_normal_volume(0.4), 0.15);
}

// A second mode that the proposal reaches rarely or never: many samples are effective, log Z is up to log 2
// too small, and the tail of the weights tells.
TEST(DensityLogZ, AModeThatTheProposalMissesIsNotTrusted) {
  for (const double distance : {4.0, 5.0, 6.0, 8.0}) {
    const DensityModel model =
        small_model(bumps(4, {{0, 0}, {distance / 2, 0}}), std::make_shared<SmallNormal>(4, 0, 1));
    for (uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_FALSE(
          judged_log_z(model, {.method = "importance", .samples = 20'000, .seed = seed}).distrust.empty())
          << distance << " " << seed;
  }
}

// s = 0 over R^2 has no integral.
TEST(DensityLogZ, NoIntegralIsNotTrusted) {
  const SmallEnergy flat(2, Support::reals(), [](std::span<const float>, std::span<double> gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    return 0.0;
  });
  const DensityModel model = small_model(flat, std::make_shared<SmallNormal>(2, 0, 1));
  EXPECT_FALSE(judged_log_z(model, {.samples = 1000}).distrust.empty());
  EXPECT_THROW(judged_log_z(model, {.method = "quadrature"}), Error);
}

TEST(DensityLogZ, ImpossibleOptions) {
  const DensityModel model = gaussian(2, 0, 1);
  EXPECT_THROW(best_log_z(model, {.method = "guess"}), Error);
  EXPECT_THROW(best_log_z(model, {.samples = 1}), Error);
  EXPECT_THROW(best_log_z(model, {.method = "enumeration"}), Error);
  EXPECT_THROW(best_log_z(gaussian(4, 0, 1), {.method = "quadrature"}), Error);
  EXPECT_THROW(best_log_z(model, {.precision = 0}), Error);
}

}  // namespace
}  // namespace selfnorm
