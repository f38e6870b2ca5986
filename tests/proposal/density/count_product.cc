#include "proposal/density/density_checks.h"
#include "proposal/density/products.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<float> first_counts(size_t count) {
  std::vector<float> out(count);
  for (size_t k = 0; k < count; ++k) out[k] = static_cast<float>(k);
  return out;
}

std::vector<CountProduct> columns() {
  return {{{2.5}, {5}}, {{0.01}, {0.02}}, {{40}, {80}}, {{3}, {0.2}}, {{1000}, {20}}};
}

// By exact sums: 1, the mean, and the variance m + m^2 / r.
TEST(CountProduct, SumsToOneWithItsMoments) {
  for (const CountProduct& q : columns()) {
    const std::vector<float> x = first_counts(20000);
    const std::vector<double> log_q = log_probs(q, x);
    double sum = 0, mean = 0, square = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const double p = std::exp(log_q[k]), value = x[k];
      sum += p;
      mean += p * value;
      square += p * value * value;
    }
    const double m = q.mean()[0], variance = m + m * m / q.size()[0];
    EXPECT_NEAR(sum, 1, 1e-10);
    EXPECT_NEAR(mean, m, 1e-9 * m);
    EXPECT_NEAR(square - mean * mean, variance, 1e-7 * variance);
  }
}

// Size 1 is the geometric distribution p (1 - p)^k, p = 1 / (1 + m).
TEST(CountProduct, GeometricAndFactors) {
  const CountProduct q({3, 2}, {1, 4}), left({3}, {1}), right({2}, {4});
  EXPECT_NEAR(log_prob_at(left, {5}), std::log(0.25) + 5 * std::log(0.75), 1e-13);
  EXPECT_NEAR(log_prob_at(q, {5, 1}), log_prob_at(left, {5}) + log_prob_at(right, {1}), 1e-13);
  for (const std::vector<float>& x : {std::vector<float>{-1, 0}, {0, 0.5}, {0, NAN}, {INFINITY, 0}})
    EXPECT_EQ(log_prob_at(q, x), -INFINITY);
}

// Both ways of drawing a Poisson and both of a Gamma.
TEST(CountProduct, DrawsByFrequency) {
  const size_t n = 20000;
  for (const CountProduct& q : {CountProduct({2.5}, {5}), CountProduct({3}, {0.2}), CountProduct({40}, {80}),
                                CountProduct({1000}, {20})}) {
    const std::vector<double> log_q = log_probs(q, first_counts(5000));
    // Ten cells of about equal mass, fewer where single counts are heavy.
    std::vector<double> mass{0};
    std::vector<size_t> cell(log_q.size());
    double below = 0;
    for (size_t k = 0; k < log_q.size(); ++k) {
      cell[k] = mass.size() - 1;
      mass.back() += std::exp(log_q[k]);
      below += std::exp(log_q[k]);
      if (mass.back() >= 0.1 && 1 - below >= 0.1) mass.push_back(0);
    }
    std::vector<float> rows(n);
    sample_density(q, 2, rows, {});
    std::vector<double> seen(mass.size());
    for (const float k : rows) seen[k < 5000 ? cell[static_cast<size_t>(k)] : mass.size() - 1] += 1;
    double chi_square = 0;
    for (size_t c = 0; c < mass.size(); ++c) {
      const double expected = static_cast<double>(n) * mass[c];
      chi_square += (seen[c] - expected) * (seen[c] - expected) / expected;
    }
    EXPECT_GE(mass.size(), 4u);
    EXPECT_LT(chi_square, 29.6) << q.mean()[0];  // at most 9 degrees of freedom, two cases of 1,000
  }
}

TEST(CountProduct, RoundTripAndSupport) {
  expect_round_trip(CountProduct({3, 2}, {1, 4}));
  EXPECT_EQ(CountProduct({3}, {1}).support().space, Support::Space::counts);
}

TEST(CountProduct, FitMatchesMomentsAndIsWiderThanAPoisson) {
  const std::vector<float> rows{0, 4, 0, 30, 5, 0, 2, 5, 0, 3, 4, 0};
  const auto q = fit_count_product({rows.data(), 4, 3});
  const auto variance = [&](size_t j) { return q->mean()[j] + q->mean()[j] * q->mean()[j] / q->size()[j]; };
  EXPECT_NEAR(q->mean()[0], 8.75, 1e-12);
  EXPECT_NEAR(variance(0), (900 + 4 + 9) / 4.0 - 8.75 * 8.75, 1e-9);
  EXPECT_NEAR(q->mean()[1], 4.5, 1e-12);
  EXPECT_NEAR(variance(1), 1.5 * 4.5, 1e-12);
  EXPECT_NEAR(q->mean()[2], 0.2, 1e-12);  // nothing was seen in four rows
  EXPECT_NEAR(variance(2), 0.3, 1e-12);
}

TEST(CountProduct, OtherValuesAreUserErrors) {
  for (const float bad : {0.5f, -1.0f, 3e7f, std::nanf("")}) {
    const std::vector<float> rows{1, bad};
    EXPECT_THROW(fit_count_product({rows.data(), 2, 1}), Error);
  }
  EXPECT_THROW(CountProduct({1}, {0}), Error);
  EXPECT_THROW(CountProduct({-1}, {1}), Error);
  EXPECT_THROW(CountProduct({1, 2}, {1}), Error);
  EXPECT_THROW(CountProduct({INFINITY}, {1}), Error);
}

TEST(CountProduct, HasNoDerivativesInX) {
  const CountProduct q({3, 2}, {1, 4});
  const std::vector<float> x{0, 1};
  std::vector<double> a(1), b(2);
  EXPECT_THROW(q.log_prob_gradient({x.data(), 1, 2}, a, b), Bug);
  EXPECT_THROW(q.directional({x.data(), 1, 2}, {x.data(), 1, 2}, a, b), Bug);
}

}  // namespace
}  // namespace selfnorm
