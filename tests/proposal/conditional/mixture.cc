#include "proposal/conditional/mixture.h"

#include <gtest/gtest.h>

#include "math/parallel.h"
#include "proposal/conditional/mixture_cases.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ConditionalMixture, IsTheDensityWrittenOut) {
  for (const MixtureShape& shape : mixture_shapes()) {
    const MixtureCase c = mixture_case(shape, {0, 1, 7, 0, 65, 130, 8});
    std::vector<double> log_q(c.row.size()), log_g(c.row.size());
    c.mixture.log_prob(c.at(), log_q, log_g);
    MixtureShape broad = shape;
    broad.components = 1;
    broad.spread = 1;
    std::vector<float> g(broad.parameters(), 0);
    for (size_t j = 0; j < shape.dimension; ++j)
      g[1 + shape.dimension + j] = static_cast<float>(std::log(std::expm1(3 - shape.least_scale)));
    for (size_t i = 0; i < c.row.size(); ++i) {
      const float* y = c.y.data() + i * shape.dimension;
      const double expected =
          log_density_by_definition(shape, c.parameters.data() + c.row[i] * shape.parameters(), y);
      EXPECT_NEAR(log_q[i], expected, 1e-11 * std::max(1.0, std::abs(expected)));
      EXPECT_NEAR(log_g[i], log_density_by_definition(broad, g.data(), y), 1e-6);
    }
  }
}

// Midpoints; the integrand vanishes at the ends, or the interval ends there.
TEST(ConditionalMixture, IntegratesToOne) {
  constexpr size_t n = 20000;
  for (const MixtureShape& shape : mixture_shapes()) {
    if (shape.dimension > 1) continue;
    MixtureCase c = mixture_case(shape, {n}, 5);
    const double from = shape.lower.empty() ? -20 : std::max(-20.0, shape.lower[0]);
    const double to = shape.upper.empty() ? 20 : std::min(20.0, shape.upper[0]);
    const double h = (to - from) / n;
    for (size_t i = 0; i < n; ++i) c.y[i] = static_cast<float>(from + (static_cast<double>(i) + 0.5) * h);
    std::vector<double> log_q(n), log_g(n);
    c.mixture.log_prob(c.at(), log_q, log_g);
    double q = 0, g = 0;
    for (size_t i = 0; i < n; ++i) {
      q += h * std::exp(log_q[i]);
      g += h * std::exp(log_g[i]);
    }
    EXPECT_NEAR(q, 1, 1e-5);
    EXPECT_NEAR(g, 1, 1e-5);
  }
}

TEST(ConditionalMixture, IntegratesToOneInThePlane) {
  constexpr size_t side = 300, n = side * side;
  for (const MixtureShape& shape :
       {mixture_shape(2, 4), mixture_shape(2, 3, {-1, -kInfinity}, {1, kInfinity})}) {
    MixtureCase c = mixture_case(shape, {n}, 6);
    const double half[] = {shape.upper.empty() ? 12 : shape.upper[0], 12};
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < 2; ++j) {
        const auto place = static_cast<double>(j == 0 ? i / side : i % side);
        c.y[2 * i + j] = static_cast<float>(half[j] * (2 * (place + 0.5) / side - 1));
      }
    double sum = 0;
    for (const double v : c.log_prob()) sum += std::exp(v) * 4 * half[0] * half[1] / n;
    EXPECT_NEAR(sum, 1, 2e-5);
  }
}

TEST(ConditionalMixture, NothingOutsideTheSupport) {
  MixtureCase c = mixture_case(mixture_shape(2, 3, {-1, -kInfinity}, {1, 2}), {9});
  const float inf = std::numeric_limits<float>::infinity();
  c.y = {1.001f, 0, -1.001f, 0, 0, 2.5f, kNan, 0, 0, kNan, 0, -inf, inf, 0, 1, 2, -1, -1e30f};
  std::vector<double> log_q(9), log_g(9);
  c.mixture.log_prob(c.at(), log_q, log_g);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(log_q[i], -kInfinity) << i;
    EXPECT_EQ(log_g[i], -kInfinity) << i;
  }
  for (size_t i = 7; i < 9; ++i) EXPECT_TRUE(std::isfinite(log_q[i]) && std::isfinite(log_g[i])) << i;
}

TEST(ConditionalMixture, ParametersThatAreNotFiniteGiveNan) {
  for (const float bad : {kNan, std::numeric_limits<float>::infinity()})
    for (const size_t place : {0u, 4u, 8u}) {
      MixtureCase c = mixture_case(mixture_shape(1, 3), {2, 2});
      c.parameters[place] = bad;
      const std::vector<double> log_q = c.log_prob();
      EXPECT_TRUE(std::isnan(log_q[0]) && std::isnan(log_q[1]));
      EXPECT_TRUE(std::isfinite(log_q[2]) && std::isfinite(log_q[3]));
      EXPECT_THROW(c.mixture.components(c.parameter_points().row(0)), Error);
    }
}

TEST(ConditionalMixture, FiniteForExtremeParameters) {
  for (const MixtureShape& shape : mixture_shapes())
    for (const float raw : {-100.0f, 100.0f, -3e38f, 3e38f})
      for (const float mean : {-1e3f, 1e3f, -3e38f, 3e38f})
        for (const float logit : {0.0f, 100.0f, -3e38f}) {
          MixtureCase c = mixture_case(shape, {5});
          const size_t cells = size_t{shape.components} * shape.dimension;
          c.parameters[0] = logit;
          c.parameters[shape.components] = mean;
          c.parameters[shape.components + cells] = raw;
          for (const double v : c.log_prob())
            ASSERT_TRUE(std::isfinite(v)) << raw << ' ' << mean << ' ' << logit;
        }
}

TEST(ConditionalMixture, SameBitsForAnyThreads) {
  for (const MixtureShape& shape : {mixture_shape(1, 8), mixture_shape(2, 3, {-1, -1}, {1, 1})}) {
    const MixtureCase c = mixture_case(shape, std::vector<uint32_t>(700, 9));
    std::vector<std::vector<double>> found;
    for (const int threads : {1, 4}) {
      const ThreadLimit limit(threads);
      found.push_back(c.log_prob());
    }
    EXPECT_EQ(found[0], found[1]);
    // Nor does a point depend on its neighbours.
    MixtureCase one = c;
    one.row = {c.row[100]};
    one.y.assign(c.y.begin() + 100 * shape.dimension, c.y.begin() + 101 * shape.dimension);
    EXPECT_EQ(one.log_prob()[0], found[0][100]);
  }
}

TEST(ConditionalMixture, ComponentsAsTheyAre) {
  const ConditionalMixture mixture(mixture_shape(2, 2));
  const std::vector<float> p{0, static_cast<float>(std::log(3)), 1, 2, 3, 4, 0, 0, 5, -50};
  const auto found = mixture.components(p);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[1].weight, 0.75, 1e-7);
  EXPECT_EQ(found[0].mean, (std::vector<double>{1, 2}));
  EXPECT_EQ(found[1].mean, (std::vector<double>{3, 4}));
  EXPECT_NEAR(found[0].scale[1], 1e-3 + std::log(2), 1e-14);
  EXPECT_NEAR(found[1].scale[0], 1e-3 + softplus(5), 1e-14);
  EXPECT_NEAR(found[1].scale[1], 1e-3, 1e-14);
}

TEST(ConditionalMixture, BadShapesAreUserErrors) {
  const auto bad = [](MixtureShape shape) { EXPECT_THROW(ConditionalMixture{shape}, Error); };
  bad(mixture_shape(0, 1));
  bad(mixture_shape(1, 0));
  bad(mixture_shape(1, 5000));
  bad(mixture_shape(1, 1, {0}, {0}));
  bad(mixture_shape(1, 1, {1}, {0}));
  bad(mixture_shape(1, 1, {0}, {}));
  bad(mixture_shape(2, 1, {0}, {1}));
  bad(mixture_shape(1, 1, {std::nan("")}, {1}));
  bad(mixture_shape(1, 1, {kInfinity}, {kInfinity}));
  bad(mixture_shape(1, 1, {1}, {1 + 1e-12}));
  for (const double v : {0.0, -1.0, std::nan(""), kInfinity}) {
    MixtureShape shape = mixture_shape(1, 1);
    shape.least_scale = v;
    bad(shape);
    shape = mixture_shape(1, 1);
    shape.broad_scale = v;
    bad(shape);
  }
  MixtureShape shape = mixture_shape(1, 1);
  shape.broad_mean = kInfinity;
  bad(shape);
}

TEST(ConditionalMixture, BoundsThatAreInfiniteAreNone) {
  EXPECT_FALSE(ConditionalMixture(mixture_shape(1, 2, {-kInfinity}, {kInfinity})).is_bounded());
  EXPECT_TRUE(ConditionalMixture(mixture_shape(1, 2, {0}, {kInfinity})).is_bounded());
}

TEST(ConditionalMixture, RowsOutOfOrderAreABug) {
  MixtureCase c = mixture_case(mixture_shape(1, 1), {1, 1});
  c.row = {1, 0};
  EXPECT_THROW(c.log_prob(), Bug);
  c.row = {0, 2};
  EXPECT_THROW(c.log_prob(), Bug);
}

TEST(ConditionalMixture, Broadened) {
  EXPECT_NEAR(broadened(std::log(0.2), std::log(0.6), 0.25), std::log(0.3), 1e-15);
  EXPECT_EQ(broadened(-2, -3, 0), -2);
  EXPECT_EQ(broadened(-2, -3, 1), -3);
  EXPECT_NEAR(broadened(-1e6, -3, 0.01), -3 + std::log(0.01), 1e-14);
  EXPECT_EQ(broadened(-kInfinity, -kInfinity, 0.1), -kInfinity);
  EXPECT_TRUE(std::isnan(broadened(std::nan(""), -1, 0.1)));
  EXPECT_TRUE(std::isnan(broadened(-kInfinity, std::nan(""), 0.1)));
}

TEST(ConditionalMixture, BroadensMany) {
  for (const size_t n : {0u, 1u, 7u, 8u, 9u, 100u}) {
    std::vector<double> log_q = random_vector<double>(n, 1, 20), log_g = random_vector<double>(n, 2, 20);
    const std::vector<double> before = log_q;
    broaden(log_q, log_g, 0.1);
    for (size_t i = 0; i < n; ++i) {
      LogSumExp expected;
      expected.add(before[i] + std::log(0.9));
      expected.add(log_g[i] + std::log(0.1));
      EXPECT_NEAR(log_q[i], expected.value(), 1e-13 * std::max(1.0, std::abs(log_q[i])));
      EXPECT_EQ(log_q[i], broadened(before[i], log_g[i], 0.1));
    }
  }
}

// Logits so large that their sum loses the number of components.
TEST(ConditionalMixture, LargeLogitsKeepTheirShares) {
  MixtureCase c = mixture_case(mixture_shape(1, 2), {1});
  c.parameters = {3e38f, 3e38f, 0, 0, 0, 0};
  const double large = c.log_prob()[0];
  c.parameters[0] = c.parameters[1] = 0;
  EXPECT_NEAR(large, c.log_prob()[0], 1e-14);
}

}  // namespace
}  // namespace selfnorm
