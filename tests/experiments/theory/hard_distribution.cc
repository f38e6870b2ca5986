#include "experiments/theory/hard_distribution.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numbers>

#include "audit/least_squares.h"
#include "experiments/theory/random_table.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

CubeVariance theorem4(uint32_t d, uint32_t k, double alpha) {
  return cube_variance(theorem4_model(d, k).scaled(alpha));
}

// theory.md 1.6, the numbers of an independent program.
TEST(HardDistribution, ReferenceNumbers) {
  EXPECT_NEAR(theorem4(8, 50, 10).v_star, 0.355946, 5e-7);
  EXPECT_NEAR(theorem4(8, 50, 10).variance, 1.17554, 5e-6);
  EXPECT_NEAR(theorem4(12, 2, 10).v_star, 0.40702, 5e-6);
  EXPECT_NEAR(theorem4(12, 2, 10).variance, 5.69394, 5e-6);
  EXPECT_NEAR(theorem4(10, 2, 1000).v_star, 5062.21, 5e-3);
  EXPECT_NEAR(theorem4(2, 2, 1000).v_star, 7781.9, 0.05);
  EXPECT_NEAR(theorem4_bound(theorem4_model(2, 2).scaled(1000).norm(), 2, 2), 19531, 0.5);
}

TEST(HardDistribution, NormOfThePapersParameters) {
  for (uint32_t d = 2; d <= 24; ++d) {
    const double expected = 1 + 1 / (static_cast<double>(d) * d * (d - 1));
    const double norm = theorem4_model(d, 3).norm();
    EXPECT_NEAR(norm * norm, expected, 1e-14) << d;
  }
}

TEST(HardDistribution, LimitOfVStar) {
  for (uint32_t d = 2; d <= 12; ++d) {
    const double limit = (d - 1.0) * (d - 1.0) / (16.0 * d * d * d);
    EXPECT_NEAR(theorem4(d, 2, 1e7).v_star / 1e14, limit, 1e-4 * limit) << d;
  }
}

// Theorem 4 for d >= 3, over decades of alpha.
TEST(HardDistribution, TheTheoremHoldsFromThreeDimensionsOn) {
  for (uint32_t d = 3; d <= 12; ++d) {
    for (const uint32_t k : {2u, 5u, 50u}) {
      for (double alpha = 0.1; alpha < 2e5; alpha *= 3) {
        const CubeModel model = theorem4_model(d, k).scaled(alpha);
        EXPECT_GE(cube_variance(model).v_star, theorem4_bound(model.norm(), d, k))
            << d << " " << k << " " << alpha;
      }
    }
  }
}

// The correction: at d = 2 the paper's parameters do not satisfy the inequality, the XOR parameters do.
TEST(HardDistribution, TheTheoremFailsInTwoDimensionsForThePapersParameters) {
  const CubeModel paper = theorem4_model(2, 2).scaled(1000);
  EXPECT_LT(cube_variance(paper).v_star, theorem4_bound(paper.norm(), 2, 2));
  for (double alpha = 0.1; alpha < 2e5; alpha *= 1.5) {
    const CubeModel model = xor_model(2, alpha);
    EXPECT_GE(cube_variance(model).v_star, theorem4_bound(model.norm(), 2, 2)) << alpha;
  }
}

TEST(HardDistribution, XorHasItsClosedFormInEveryDimension) {
  for (uint32_t d = 2; d <= 12; ++d) {
    for (const double alpha : {-3.0, 0.0, 0.01, 1.0, 10.0, 1000.0}) {
      const CubeModel model = xor_model(d, alpha);
      const CubeVariance v = cube_variance(model);
      EXPECT_NEAR(v.v_star, xor_v_star(alpha), 1e-12 * (1 + xor_v_star(alpha)));
      EXPECT_NEAR(v.variance, v.v_star, 1e-12 * (1 + v.v_star));
      EXPECT_DOUBLE_EQ(model.norm(), 2 * std::abs(alpha));
    }
  }
  const double spread = 2 + std::log(1 + std::exp(-4.0)) - std::numbers::ln2;
  EXPECT_NEAR(xor_v_star(2), spread * spread / 4, 1e-15);
  EXPECT_NEAR(xor_v_star(1e8) / 4e16, 1.0 / 16, 1e-8);
}

// V* is the residual variance of the regression of A on (1, x), for any parameters.
TEST(HardDistribution, VStarIsTheResidualVarianceOfTheRegression) {
  EXPECT_TRUE(rc::check("V* by slopes = V* by least squares", [](uint16_t seed) {
    RandomStream random(seed);
    const uint32_t d = static_cast<uint32_t>(1 + random.below(6)),
                   k = static_cast<uint32_t>(1 + random.below(5));
    const CubeModel model{d, k, random_eta(d * k, 3, random)};
    Features x;
    x.is_sparse = false;
    x.dense = {uint64_t{1} << d, d, {}};
    for (uint64_t corner = 0; corner < x.dense.rows; ++corner)
      for (uint32_t j = 0; j < d; ++j) x.dense.values.push_back(static_cast<float>(corner >> j & 1));
    LeastSquares fit(d);
    fit.add(x, log_normalizers(multiclass_table(x.dense, k), model.eta));
    const CubeVariance v = cube_variance(model);
    RC_ASSERT(std::abs(v.variance - fit.fit().variance) < 1e-9);
    RC_ASSERT(std::abs(v.v_star - fit.fit().residual_variance) < 1e-9);
  }));
}

TEST(HardDistribution, SameBitsForAnyNumberOfThreads) {
  const CubeModel model = theorem4_model(15, 3).scaled(20);
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return cube_variance(model);
  };
  EXPECT_EQ(with(1).v_star, with(2).v_star);
  EXPECT_EQ(with(1).variance, with(2).variance);
}

TEST(HardDistribution, RefusesShapesWithoutAConstruction) {
  EXPECT_THROW(theorem4_model(1, 2), Error);
  EXPECT_THROW(theorem4_model(3, 1), Error);
  EXPECT_THROW(theorem4_bound(1, 1, 2), Error);
  EXPECT_THROW(theorem4_bound(-1, 3, 2), Error);
  EXPECT_THROW(xor_model(1, 1), Error);
  EXPECT_THROW(xor_model(2, std::nan("")), Error);
  EXPECT_THROW(cube_variance({25, 1, std::vector<double>(25)}), Error);
  EXPECT_THROW(cube_variance({2, 1, {std::nan(""), 0}}), Error);
}

}  // namespace
}  // namespace selfnorm
