#include "normalizer/sampling/bridge_log_z.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/energy/exponential_family.h"
#include "normalizer/point_enumeration.h"
#include "proposal/density/elliptical.h"
#include "proposal/density/products.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// A Gaussian of another mean and a larger spread than the proposal, which importance sampling fails on.
TEST(BridgeLogZ, HoldsTheTruthOfAWiderGaussian) {
  ExponentialFamily energy({"gaussian", 2});
  energy.set_eta(std::vector<double>{0.4, -0.2, -0.125, -0.125, 0.0});  // variance 4
  const Gaussian q({0, 0}, PrecisionRoot(PrecisionRoot::Shape::diagonal, 2, {1, 1}));
  const LogZEstimate z = bridge_log_z(energy, q, {}, 3);
  const double truth = *energy.log_z(energy.eta());
  EXPECT_LE(z.low - 0.02, truth);
  EXPECT_GE(z.high + 0.02, truth);
  EXPECT_LT(z.high - z.low, 0.5);
}

TEST(BridgeLogZ, AgreesWithEnumeration) {
  ExponentialFamily energy({"ising", 4});
  energy.set_eta(std::vector<double>{0.5, -0.3, 0.2, 0.1, 1, -0.5, 0.3, 0.2, -0.8, 0.6});
  const BernoulliProduct q({0, 0, 0, 0});
  const LogZEstimate z = bridge_log_z(energy, q, {}, 3);
  EXPECT_NEAR(z.value, enumerate_log_z(energy).value, 0.03);
}

TEST(BridgeLogZ, OfEqualDistributionsHasNoError) {
  const std::vector<double> one(100, 2.5);
  const Bridge bridge = bridge_of(one, one, 50);
  EXPECT_NEAR(bridge.log_z, 2.5, 1e-12);
  EXPECT_NEAR(bridge.error, 0, 1e-6);
}

TEST(BridgeLogZ, RefusesCounts) {
  const ExponentialFamily energy({"poisson", 1});
  EXPECT_THROW(bridge_log_z(energy, CountProduct({1}, {1}), {}, 1), Error);
}

}  // namespace
}  // namespace selfnorm
