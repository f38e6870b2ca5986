#include "normalizer/point_enumeration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "math/sigmoid.h"
#include "model/energy/exponential_family.h"
#include "model/energy/make_energy.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

ExponentialFamily random_ising(uint32_t dimension, uint64_t seed) {
  ExponentialFamily ising({"ising", dimension, {}, {}});
  ising.set_eta(random_vector<double>(ising.count(), seed));
  return ising;
}

TEST(PointEnumeration, PointsAreNumberedWithTheLastCoordinateFastest) {
  Support support;
  support.space = Support::Space::levels;
  support.levels = {2, 3};
  ASSERT_EQ(countable_points(support), 6u);
  std::vector<float> x(12), part(4);
  enumerate_points(support, 0, 6, x);
  EXPECT_EQ(x, (std::vector<float>{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2}));
  enumerate_points(support, 2, 4, part);
  EXPECT_EQ(part, (std::vector<float>{0, 2, 1, 0}));
}

TEST(PointEnumeration, CountsPoints) {
  EXPECT_EQ(countable_points(Support::binary(24)), kMostPoints);
  EXPECT_EQ(countable_points(Support::binary(25)), 0u);
  EXPECT_EQ(countable_points(Support::binary(200)), 0u);
  EXPECT_EQ(countable_points(Support::reals()), 0u);
}

TEST(PointEnumeration, AgreesWithTheClosedFormOfBernoullis) {
  ExponentialFamily family({"bernoulli", 17, {}, {}});  // more than one block
  family.set_eta(random_vector<double>(17, 3));
  const LogZEstimate z = enumerate_log_z(family);
  EXPECT_EQ(z.method, "enumeration");
  EXPECT_NEAR(z.value, *family.log_z(family.eta()), 1e-10);
  EXPECT_EQ(z.low, z.value);
  EXPECT_EQ(z.high, z.value);
  EXPECT_EQ(z.evaluations, uint64_t{1} << 17);
  const auto mean = enumerate_mean(family, 17, [&](auto x, auto t) { family.statistics(x, t); });
  const auto expected = family.mean(family.eta());
  for (size_t j = 0; j < 17; ++j) EXPECT_NEAR(mean[j], (*expected)[j], 1e-10);
}

// A chain of spins without fields: Z = 2 prod_j 2 cosh J_j in spins of -1 and 1.
TEST(PointEnumeration, AgreesWithTheTransferMatrixOfAnIsingChain) {
  constexpr uint32_t d = 12;
  ExponentialFamily ising({"ising", d, {}, {}});
  std::vector<double> eta(ising.count());
  double constant = 0, expected = std::log(2);
  const auto pair = [](uint32_t i, uint32_t j) { return d + i * d - i * (i + 1) / 2 + (j - i - 1); };
  for (uint32_t j = 0; j + 1 < d; ++j) {
    const double coupling = 0.5 - 0.125 * j;
    eta[pair(j, j + 1)] += 4 * coupling;
    eta[j] -= 2 * coupling;
    eta[j + 1] -= 2 * coupling;
    constant += coupling;
    expected += std::log(2 * std::cosh(coupling));
  }
  ising.set_eta(eta);
  EXPECT_NEAR(enumerate_log_z(ising).value + constant, expected, 1e-10);
}

// Summing out the visible units instead: Z = sum_h exp(c.h) prod_j (1 + exp(a_j + sum_k h_k w_kj)).
TEST(PointEnumeration, AgreesWithTheOtherLayerOfAnRbm) {
  constexpr uint32_t d = 9, hidden = 4;
  const auto rbm = make_rbm({.dimension = d, .hidden = hidden});
  const auto theta = random_vector<float>(rbm->parameters().size(), 2);
  std::copy(theta.begin(), theta.end(), rbm->parameters().begin());
  rbm->parameters_changed();
  LogSumExp sum;
  for (uint32_t h = 0; h < 1u << hidden; ++h) {
    double s = 0;
    for (uint32_t k = 0; k < hidden; ++k)
      if (h >> k & 1) s += theta[d + k];
    for (uint32_t j = 0; j < d; ++j) {
      double z = theta[j];
      for (uint32_t k = 0; k < hidden; ++k)
        if (h >> k & 1) z += theta[d + hidden + k * d + j];
      s += softplus(z);
    }
    sum.add(s);
  }
  EXPECT_NEAR(enumerate_log_z(*rbm).value, sum.value(), 1e-6);
}

TEST(PointEnumeration, BitsDoNotDependOnThreads) {
  const ExponentialFamily ising = random_ising(13, 1);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    auto out = enumerate_mean(ising, ising.count(), [&](auto x, auto t) { ising.statistics(x, t); });
    out.push_back(enumerate_log_z(ising).value);
    return out;
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(PointEnumeration, BadInputs) {
  EXPECT_THROW(enumerate_log_z(ExponentialFamily({"gaussian", 1, {}, {}})), Error);
  EXPECT_THROW(enumerate_log_z(ExponentialFamily({"poisson", 1, {}, {}})), Error);
  EXPECT_THROW(enumerate_log_z(ExponentialFamily({"bernoulli", 25, {}, {}})), Error);
  ExponentialFamily damaged({"bernoulli", 2, {}, {}});
  damaged.parameters()[0] = NAN;
  damaged.parameters_changed();
  EXPECT_THROW(enumerate_log_z(damaged), Error);
}

}  // namespace
}  // namespace selfnorm
