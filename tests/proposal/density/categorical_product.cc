#include "proposal/density/density_checks.h"
#include "proposal/density/products.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

CategoricalProduct three_by_two() { return {{3, 2}, {0.5, -1, 0.25, 1, 2}}; }

std::vector<float> all_cells() { return {0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1}; }

TEST(CategoricalProduct, SumsToOneAndFactors) {
  const std::vector<double> log_q = log_probs(three_by_two(), all_cells());
  double sum = 0;
  for (const double v : log_q) sum += std::exp(v);
  EXPECT_NEAR(sum, 1, 1e-14);
  EXPECT_NEAR(log_q[5] - log_q[4], 1, 1e-14);
  EXPECT_NEAR(log_q[0] - log_q[2], 1.5, 1e-14);
  for (const std::vector<float>& x : {std::vector<float>{3, 0}, {0, 0.5}, {-1, 0}, {0, NAN}})
    EXPECT_EQ(log_prob_at(three_by_two(), x), -INFINITY);
}

TEST(CategoricalProduct, DrawsByFrequency) {
  const CategoricalProduct q = three_by_two();
  std::vector<float> rows(2 * 20000);
  sample_density(q, 2, rows, {});
  std::vector<double> seen(6);
  for (size_t i = 0; i < rows.size(); i += 2) seen[static_cast<size_t>(2 * rows[i] + rows[i + 1])] += 1;
  const std::vector<double> log_q = log_probs(q, all_cells());
  double chi_square = 0;
  for (size_t c = 0; c < 6; ++c) {
    const double expected = 20000 * std::exp(log_q[c]);
    chi_square += (seen[c] - expected) * (seen[c] - expected) / expected;
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, one case of 1,000
}

TEST(CategoricalProduct, DerivativesInItsParameters) {
  CategoricalProduct q = three_by_two();
  expect_parameter_gradient(q, all_cells());
}

TEST(CategoricalProduct, RoundTripAndSupport) {
  expect_round_trip(three_by_two());
  EXPECT_EQ(three_by_two().support().levels, (std::vector<uint32_t>{3, 2}));
}

TEST(CategoricalProduct, FitIsSmoothedFrequency) {
  const std::vector<float> rows{0, 0, 2, 0, 2, 0};  // levels 3 and, of a constant column, 2
  const auto q = fit_categorical_product({rows.data(), 3, 2});
  EXPECT_EQ(q->support().levels, (std::vector<uint32_t>{3, 2}));
  EXPECT_NEAR(log_prob_at(*q, {2, 0}), std::log(2.5 / 4.5 * 3.5 / 4), 1e-14);
  EXPECT_NEAR(log_prob_at(*q, {1, 1}), std::log(0.5 / 4.5 * 0.5 / 4), 1e-14);
}

TEST(CategoricalProduct, OtherValuesAreUserErrors) {
  for (const float bad : {0.5f, -1.0f, 65536.0f, std::nanf("")}) {
    const std::vector<float> rows{1, bad};
    EXPECT_THROW(fit_categorical_product({rows.data(), 2, 1}), Error);
  }
}

TEST(CategoricalProduct, HasNoDerivativesInX) {
  const std::vector<float> x{0, 1};
  std::vector<double> a(1), b(2);
  EXPECT_THROW(three_by_two().log_prob_gradient({x.data(), 1, 2}, a, b), Bug);
  EXPECT_THROW(three_by_two().directional({x.data(), 1, 2}, {x.data(), 1, 2}, a, b), Bug);
}

}  // namespace
}  // namespace selfnorm
