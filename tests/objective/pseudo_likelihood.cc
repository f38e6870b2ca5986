#include "objective/pseudo_likelihood.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gradient_check.h"
#include "model/energy/exponential_family.h"
#include "normalizer/point_enumeration.h"
#include "random_data.h"

namespace selfnorm {
namespace {

constexpr uint32_t kSpins = 5;

// -sum_j log p(x_j | rest) with p(x_j | rest) = p(x) / (p(x) + p(x with x_j flipped)), p by enumeration.
TEST(PseudoLikelihood, IsThatOfTheEnumeratedDistribution) {
  ExponentialFamily ising({"ising", kSpins, {}, {}});
  ising.set_eta(random_vector<double>(ising.count(), 1));
  const double log_z = enumerate_log_z(ising).value;
  std::vector<float> all(kSpins << kSpins);
  enumerate_points(ising.support(), 0, 1 << kSpins, all);
  std::vector<double> s(1 << kSpins), flipped(kSpins), d(kSpins);
  ising.score({all.data(), s.size(), kSpins}, s);
  for (size_t i = 0; i < s.size(); ++i) {
    double expected = 0;
    for (uint32_t j = 0; j < kSpins; ++j) {
      flipped[j] = s[i ^ 1u << (kSpins - 1 - j)];
      const double p = std::exp(s[i] - log_z), other = std::exp(flipped[j] - log_z);
      expected -= std::log(p / (p + other));
    }
    EXPECT_NEAR(pseudo_likelihood(s[i], flipped, d).likelihood, expected, 1e-10);
  }
}

TEST(PseudoLikelihood, Gradient) {
  const std::vector<double> at = {0.5, -1, 2, 0.25};  // s, then s of the flipped
  std::vector<double> d(3), gradient;
  const auto value = [&](const std::vector<double>& x) {
    std::vector<double> unused(x.size() - 1);
    return pseudo_likelihood(x[0], std::span(x).subspan(1), unused).likelihood;
  };
  gradient.push_back(pseudo_likelihood(at[0], std::span(at).subspan(1), d).d_score);
  gradient.insert(gradient.end(), d.begin(), d.end());
  expect_gradient(value, at, gradient);
}

TEST(PseudoLikelihood, LargeAndNoScores) {
  std::vector<double> d(2);
  const auto terms = pseudo_likelihood(-1000, std::vector<double>{1000, -3000}, d);
  EXPECT_EQ(terms.likelihood, 2000);
  EXPECT_EQ(terms.d_score, -1);
  EXPECT_EQ(d, (std::vector<double>{1, 0}));
  EXPECT_EQ(pseudo_likelihood(1, {}, {}).likelihood, 0);
  EXPECT_TRUE(std::isnan(pseudo_likelihood(NAN, std::vector<double>{1, 2}, d).likelihood));
}

}  // namespace
}  // namespace selfnorm
