#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "audit/error_audit.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct Golden {
  uint64_t exceed, n;
  double confidence, bound;
};

// scipy 1.10.1: scipy.stats.beta.ppf(confidence, exceed + 1, n - exceed)
TEST(Certificate, AgreesWithScipy) {
  const Golden golden[] = {
      {0, 100, 0.95, 0.0295130496070399},
      {0, 1000, 0.99, 0.00459458264847304},
      {1, 10, 0.9, 0.336847723306725},
      {5, 100, 0.95, 0.102253377643274},
      {50, 100, 0.99, 0.619282533093047},
      {99, 100, 0.95, 0.999487198583738},
      {3, 20000, 0.99, 0.000502167421833046},
      {173, 20000, 0.99, 0.0102988815543352},
      {9876, 1000000, 0.999, 0.0101853811927474},
      {2, 7, 0.3, 0.276339693904907},
      {100000, 1000000000, 0.999999, 0.000101511300391588},
      {0, 1, 0.5, 0.5},
      {9, 10, 0.05, 0.741134449106948},
  };
  for (const Golden& g : golden) {
    EXPECT_NEAR(clopper_pearson_upper(g.exceed, g.n, g.confidence), g.bound, 1e-11 * g.bound)
        << g.exceed << " of " << g.n;
  }
  EXPECT_EQ(clopper_pearson_upper(10, 10, 0.99), 1);
}

// scipy 1.10.1: the largest k with scipy.stats.binom.cdf(k, n, rho) <= 1 - confidence
TEST(Certificate, LargestCountAgreesWithScipy) {
  EXPECT_EQ(largest_certifiable_count(100, 0.01, 0.99), -1);
  EXPECT_EQ(largest_certifiable_count(458, 0.01, 0.99), -1);
  EXPECT_EQ(largest_certifiable_count(459, 0.01, 0.99), 0);
  EXPECT_EQ(largest_certifiable_count(1000, 0.01, 0.99), 2);
  EXPECT_EQ(largest_certifiable_count(20000, 0.01, 0.99), 167);
  EXPECT_EQ(largest_certifiable_count(1000000, 0.001, 0.999), 903);
  EXPECT_EQ(largest_certifiable_count(10, 0.5, 0.9), 2);
}

// P(Binomial(n, p) <= k), summed.
long double summed_tail(uint64_t k, uint64_t n, long double p) {
  long double mass = std::pow(1 - p, static_cast<long double>(n)), sum = mass;
  for (uint64_t i = 1; i <= k; ++i) {
    mass *= static_cast<long double>(n - i + 1) / static_cast<long double>(i) * p / (1 - p);
    sum += mass;
  }
  return sum;
}

// The definition: beta is the probability, at the bound, of so few exceedances.
TEST(Certificate, SolvesTheBinomialTail) {
  EXPECT_TRUE(rc::check("P(Binomial(n, bound) <= k) = beta", [] {
    const auto n = *rc::gen::inRange<uint64_t>(1, 400);
    const auto k = *rc::gen::inRange<uint64_t>(0, n);
    const double confidence = *rc::gen::inRange(1, 1000) / 1000.0;
    const double bound = clopper_pearson_upper(k, n, confidence);
    RC_ASSERT(bound > 0 && bound < 1);
    RC_ASSERT(std::abs(static_cast<double>(summed_tail(k, n, bound)) - (1 - confidence)) <
              1e-9 * (1 - confidence));
  }));
}

TEST(Certificate, GrowsWithTheCountAndTheConfidenceAndFallsWithN) {
  EXPECT_TRUE(rc::check("monotone", [] {
    const auto n = *rc::gen::inRange<uint64_t>(2, 100000);
    const auto k = *rc::gen::inRange<uint64_t>(0, n - 1);
    const double confidence = *rc::gen::inRange(1, 999) / 1000.0;
    const double bound = clopper_pearson_upper(k, n, confidence);
    RC_ASSERT(clopper_pearson_upper(k + 1, n, confidence) > bound);
    RC_ASSERT(clopper_pearson_upper(k, n + 1, confidence) < bound);
    RC_ASSERT(clopper_pearson_upper(k, n, confidence + 0.001) > bound);
  }));
}

TEST(Certificate, TheLargestCountIsTheLargest) {
  EXPECT_TRUE(rc::check("k is certifiable, k + 1 is not", [] {
    const auto n = *rc::gen::inRange<uint64_t>(1, 20000);
    const double rho = *rc::gen::inRange(1, 1000) / 1000.0;
    const double confidence = *rc::gen::inRange(1, 1000) / 1000.0;
    const int64_t k = largest_certifiable_count(n, rho, confidence);
    RC_ASSERT(k >= -1 && k < static_cast<int64_t>(n));
    if (k >= 0) RC_ASSERT(clopper_pearson_upper(static_cast<uint64_t>(k), n, confidence) <= rho);
    RC_ASSERT(clopper_pearson_upper(static_cast<uint64_t>(k + 1), n, confidence) > rho);
  }));
}

TEST(Certificate, RefusesWhatIsNoAudit) {
  EXPECT_THROW(clopper_pearson_upper(0, 0, 0.9), Error);
  EXPECT_THROW(clopper_pearson_upper(3, 2, 0.9), Error);
  for (const double bad : {0.0, 1.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_THROW(clopper_pearson_upper(1, 2, bad), Error);
    EXPECT_THROW(largest_certifiable_count(10, bad, 0.9), Error);
    EXPECT_THROW(largest_certifiable_count(10, 0.1, bad), Error);
  }
  EXPECT_THROW(largest_certifiable_count(0, 0.1, 0.9), Error);
}

// The model with scores (x, -x), x ~ N(0,1), and c = log 2: A - c = log cosh x >= 0, so
//     P(|A - c| > eps) = P(|x| > acosh(e^eps)) = erfc(acosh(e^eps) / sqrt 2).
double log_cosh(double x) { return std::abs(x) + std::log1p(std::exp(-2 * std::abs(x))) - std::numbers::ln2; }
double truth(double eps) { return std::erfc(std::acosh(std::exp(eps)) / std::numbers::sqrt2); }

std::vector<double> audit(uint64_t n, RandomStream& random) {
  std::vector<double> deviation(n);
  for (double& v : deviation) v = log_cosh(random.normal());
  return deviation;
}

constexpr int kAudits = 20000;
// Five standard deviations of the count of failures when each audit fails with probability beta: were the
// true rate exactly beta, a fresh seed would fail the test with probability 3e-7 (normal tail; below 2e-6
// for the skewed binomial at beta = 0.01).
double most_failures(double beta) { return kAudits * beta + 5 * std::sqrt(kAudits * beta * (1 - beta)); }

TEST(Certificate, CoversAtAFixedEps) {
  constexpr double kEps[] = {0.05, 1.0, 2.0}, kConfidence[] = {0.9, 0.99};
  RandomStream random(2015);
  int failures[3][2] = {};
  for (int i = 0; i < kAudits; ++i) {
    const std::vector<double> deviation = audit(200, random);
    for (int e = 0; e < 3; ++e) {
      const auto exceed =
          std::count_if(deviation.begin(), deviation.end(), [&](double v) { return v > kEps[e]; });
      for (int c = 0; c < 2; ++c) {
        const double bound = clopper_pearson_upper(static_cast<uint64_t>(exceed), 200, kConfidence[c]);
        failures[e][c] += truth(kEps[e]) > bound;
      }
    }
  }
  for (int e = 0; e < 3; ++e) {
    for (int c = 0; c < 2; ++c) {
      EXPECT_LE(failures[e][c], most_failures(1 - kConfidence[c])) << kEps[e] << ", " << kConfidence[c];
    }
  }
}

// The smallest eps that can be certified depends on the same audit, and the statement still holds with the
// stated confidence: P(Binomial(n, rho) <= k) <= beta bounds the chance that the (k+1)-th largest deviation
// lies below the quantile 1 - rho, and for a continuous A it is that chance, which the second check
// asks for (both checks: five standard deviations, error rate below 2e-6).
TEST(Certificate, CoversAtTheSmallestCertifiableEps) {
  struct Setting {
    uint64_t n;
    double rho, confidence;
  };
  for (const Setting& s : {Setting{500, 0.05, 0.9}, Setting{700, 0.01, 0.99}}) {
    const int64_t k = largest_certifiable_count(s.n, s.rho, s.confidence);
    ASSERT_GE(k, 0);
    const double level = static_cast<double>(summed_tail(static_cast<uint64_t>(k), s.n, s.rho));
    ASSERT_LE(level, 1 - s.confidence);
    RandomStream random(2025, s.n);
    int failures = 0;
    for (int i = 0; i < kAudits; ++i) {
      std::vector<double> deviation = audit(s.n, random);
      std::nth_element(deviation.begin(), deviation.begin() + k, deviation.end(), std::greater<>());
      failures += truth(deviation[static_cast<size_t>(k)]) > s.rho;
    }
    EXPECT_LE(failures, most_failures(1 - s.confidence)) << s.n;
    EXPECT_NEAR(failures, kAudits * level, 5 * std::sqrt(kAudits * level)) << s.n;
  }
}

}  // namespace
}  // namespace selfnorm
