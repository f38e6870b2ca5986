#include <gtest/gtest.h>

#include <type_traits>

#include "normalizer/crf/lattice.h"
#include "normalizer/crf/small_crfs.h"

namespace selfnorm {
namespace {

// Marginals are read as Real, everything else as double.
template <class Real>
struct LogLattice : testing::Test {
  static constexpr double kRounding = std::is_same_v<Real, float> ? 1e-7 : 1e-12;
};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(LogLattice, Numbers);

TYPED_TEST(LogLattice, AgreesWithEnumerationAtEverySpread) {
  for (const bool own : {false, true}) {
    for (const double spread : {0.1, 1.0, 30.0, 1e4}) {
      const auto s = random_scores<TypeParam>(3, 5, own, spread, 4);
      const CrfOracle truth = enumerate(s.view());
      BasicLattice<TypeParam> lattice;
      EXPECT_NEAR(lattice.forward_in_log_space(s.view()), truth.log_z, 1e-12 * std::max(1.0, spread));
      lattice.backward(s.view());
      for (uint64_t t = 0; t < 5; ++t)
        for (uint32_t k = 0; k < 3; ++k)
          EXPECT_NEAR(static_cast<double>(lattice.marginals()[t * 3 + k]), truth.marginal[t * 3 + k],
                      std::max(1e-10, TestFixture::kRounding));
      std::vector<double> pair(s.pair.size());
      lattice.add_pairs(s.view(), 1, pair);
      for (size_t i = 0; i < pair.size(); ++i) EXPECT_NEAR(pair[i], truth.pair[i], 1e-10);
      EXPECT_NEAR(lattice.entropy(s.view()), truth.entropy, 1e-9);
    }
  }
}

// A score beside which all others are below rounding leaves those of the other positions as they are: with
// v = 0 positions are independent.
TYPED_TEST(LogLattice, HugeScoresDoNotSwallowOthers) {
  const OwnedScores<TypeParam> s{2, 3, false, {1, 0, 3e34f, 0, 1, 0}, std::vector<TypeParam>(4)};
  const double one = 1 / (1 + std::exp(-1)), expected[] = {one, 1 - one, 1, 0, one, 1 - one};
  BasicLattice<TypeParam> lattice;
  EXPECT_NEAR(lattice.forward_in_log_space(s.view()), double{3e34f}, 1e20);
  lattice.backward(s.view());
  std::vector<double> pair(4);
  lattice.add_pairs(s.view(), 1, pair);
  for (uint64_t t = 0; t < 3; ++t)
    for (uint32_t k = 0; k < 2; ++k)
      EXPECT_NEAR(static_cast<double>(lattice.marginals()[t * 2 + k]), expected[t * 2 + k],
                  TestFixture::kRounding);
  const double pairs[] = {2 * one, 1 - one, 1 - one, 0};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(pair[i], pairs[i], 1e-12);
  EXPECT_NEAR(lattice.entropy(s.view()), -2 * (one * std::log(one) + (1 - one) * std::log(1 - one)), 1e-12);
}

// The scaled recursions and those in log space are two programs for the same numbers.
TEST(LogLatticeOfDoubles, AgreesWithTheScaledLattice) {
  for (const uint32_t labels : {2u, 17u, 49u}) {
    const auto s = random_scores<double>(labels, 60, false, 2, labels);
    BasicLattice<double> slow, fast;
    EXPECT_NEAR(fast.forward(s.view()), slow.forward_in_log_space(s.view()), 1e-10);
    fast.backward(s.view());
    slow.backward(s.view());
    EXPECT_FALSE(fast.is_in_log_space());
    for (uint64_t t = 0; t < 60; ++t)
      for (uint32_t k = 0; k < labels; ++k)
        EXPECT_NEAR(fast.marginals()[t * labels + k], slow.marginals()[t * labels + k], 1e-11);
    EXPECT_NEAR(fast.entropy(s.view()), slow.entropy(s.view()), 1e-10);
  }
}

}  // namespace
}  // namespace selfnorm
