#include "proposal/density/density_checks.h"
#include "proposal/density/products.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLogit[] = {0.5, -1, 2};

BernoulliProduct bits() { return BernoulliProduct({std::begin(kLogit), std::end(kLogit)}); }

std::vector<float> all_bits() {
  std::vector<float> rows;
  for (int code = 0; code < 8; ++code)
    for (int j = 0; j < 3; ++j) rows.push_back(static_cast<float>(code >> j & 1));
  return rows;
}

TEST(BernoulliProduct, SumsToOneAndFactors) {
  const std::vector<double> log_q = log_probs(bits(), all_bits());
  double sum = 0;
  for (const double v : log_q) sum += std::exp(v);
  EXPECT_NEAR(sum, 1, 1e-14);
  EXPECT_NEAR(log_q[5], std::log(1 / (1 + std::exp(-0.5)) / (1 + std::exp(-1.0)) / (1 + std::exp(-2.0))),
              1e-14);
  EXPECT_EQ(log_prob_at(bits(), {0, 0.5, 1}), -INFINITY);
  EXPECT_EQ(log_prob_at(bits(), {0, 2, 1}), -INFINITY);
}

TEST(BernoulliProduct, DrawsByFrequency) {
  const BernoulliProduct q = bits();
  std::vector<float> rows(3 * 20000);
  sample_density(q, 2, rows, {});
  std::vector<double> seen(8);
  for (size_t i = 0; i < rows.size(); i += 3)
    seen[static_cast<size_t>(rows[i] + 2 * rows[i + 1] + 4 * rows[i + 2])] += 1;
  const std::vector<double> log_q = log_probs(q, all_bits());
  double chi_square = 0;
  for (size_t c = 0; c < 8; ++c) {
    const double expected = 20000 * std::exp(log_q[c]);
    chi_square += (seen[c] - expected) * (seen[c] - expected) / expected;
  }
  EXPECT_LT(chi_square, 24.3);  // 7 degrees of freedom, one case of 1,000
}

TEST(BernoulliProduct, DerivativesInItsParameters) {
  BernoulliProduct q = bits();
  expect_parameter_gradient(q, all_bits());
}

TEST(BernoulliProduct, RoundTripAndSupport) {
  expect_round_trip(bits());
  EXPECT_EQ(bits().support().levels, (std::vector<uint32_t>{2, 2, 2}));
}

TEST(BernoulliProduct, FitIsSmoothedFrequency) {
  const std::vector<float> rows{1, 0, 1, 0, 0, 0};  // columns 2 of 3 and 0 of 3
  const auto q = fit_bernoulli_product({rows.data(), 3, 2});
  EXPECT_NEAR(q->parameters()[0], std::log(2.5 / 1.5), 1e-15);
  EXPECT_NEAR(q->parameters()[1], std::log(0.5 / 3.5), 1e-15);
}

TEST(BernoulliProduct, FractionsAreUserErrors) {
  for (const float bad : {0.5f, 2.0f, -1.0f, std::nanf("")}) {
    const std::vector<float> rows{1, bad};
    EXPECT_THROW(fit_bernoulli_product({rows.data(), 2, 1}), Error);
  }
}

TEST(BernoulliProduct, HasNoDerivativesInX) {
  const std::vector<float> x{0, 1, 1};
  std::vector<double> a(1), b(3);
  EXPECT_THROW(bits().log_prob_gradient({x.data(), 1, 3}, a, b), Bug);
  EXPECT_THROW(bits().directional({x.data(), 1, 3}, {x.data(), 1, 3}, a, b), Bug);
}

}  // namespace
}  // namespace selfnorm
