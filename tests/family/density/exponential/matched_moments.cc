#include <gtest/gtest.h>

#include <cmath>

#include "family/density/exponential/exponential_fit.h"
#include "family/density/exponential/family_estimate.h"
#include "random_data.h"

namespace selfnorm {
namespace {

std::vector<double> mean_of(const ExponentialFamily& family, const std::vector<float>& x) {
  FamilyMean mean(family);
  mean.add({x.data(), x.size() / family.dimension(), family.dimension()});
  return mean.means().t;
}

// E T of the estimate is the mean it came from.
TEST(MatchedMoments, AreTheMeansOfTheFamily) {
  std::vector<float> rows = random_vector<float>(90, 4);
  for (size_t i = 0; i < rows.size(); i += 3) rows[i + 2] += 2 * rows[i] + 3;
  for (const char* word : {"gaussian", "exponential", "poisson", "bernoulli"}) {
    SCOPED_TRACE(word);
    std::vector<float> x = rows;
    for (float& v : x) {
      if (word == std::string("exponential")) v = std::abs(v);
      if (word == std::string("poisson")) v = std::floor(3 * std::abs(v));
      if (word == std::string("bernoulli")) v = v > 0.3f ? 1.0f : 0.0f;
    }
    const ExponentialFamily family({word, 3});
    const std::vector<double> mean = mean_of(family, x);
    const auto matched = matched_moments(word, 3, mean);
    ASSERT_TRUE(matched);
    EXPECT_FALSE(matched->is_at_the_edge);
    const auto expected = family.mean(matched->eta);
    ASSERT_TRUE(expected);
    for (size_t k = 0; k < mean.size(); ++k) EXPECT_NEAR((*expected)[k], mean[k], 1e-9);
  }
}

TEST(MatchedMoments, WithoutAMaximumStopJustInside) {
  const auto bits = matched_moments("bernoulli", 3, std::vector<double>{0, 1, 0.5});
  EXPECT_TRUE(bits->is_at_the_edge);
  EXPECT_NEAR(bits->eta[0], std::log(1e-9), 1e-6);
  EXPECT_NEAR(bits->eta[1], -std::log(1e-9), 1e-6);
  EXPECT_EQ(bits->eta[2], 0);
  EXPECT_NEAR(matched_moments("poisson", 1, std::vector<double>{0})->eta[0], std::log(1e-9), 1e-12);
  // The second column is twice the first, the third constant.
  const std::vector<float> x{1, 2, 5, 2, 4, 5, 4, 8, 5};
  ExponentialFamily family({"gaussian", 3});
  const auto matched = matched_moments("gaussian", 3, mean_of(family, x));
  EXPECT_TRUE(matched->is_at_the_edge);
  family.set_eta(matched->eta);  // can be normalised
  EXPECT_TRUE(std::isfinite(*family.log_z(family.eta())));
}

// coth(kappa) - 1 / kappa = 1 - 1 / kappa for a large kappa.
TEST(MatchedMoments, OfDirectionsAroundAPole) {
  const ExponentialFamily family({"von-mises-fisher", 2});
  for (const std::vector<double>& mean :
       {std::vector<double>{0.1, -0.2, 0.3}, {1e-4, 0, 1 - 1e-4}, {-1e-3, 1e-3, -0.9999}}) {
    const auto matched = matched_moments("von-mises-fisher", 2, mean);
    ASSERT_TRUE(matched);
    EXPECT_FALSE(matched->is_at_the_edge);
    const auto expected = family.mean(matched->eta);
    ASSERT_TRUE(expected);
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR((*expected)[k], mean[k], 1e-9);
  }
  EXPECT_NEAR(matched_moments("von-mises-fisher", 2, std::vector<double>{0, 0, 1 - 1e-4})->eta[2], 1e4, 1e-3);
  EXPECT_EQ(matched_moments("von-mises-fisher", 2, std::vector<double>{0, 0, 0})->eta,
            (std::vector<double>{0, 0, 0}));
  EXPECT_TRUE(matched_moments("von-mises-fisher", 2, std::vector<double>{0, 0, 1})->is_at_the_edge);
}

TEST(MatchedMoments, OtherFamiliesHaveNone) {
  for (const char* word : {"gamma", "von-mises", "ising", "truncated-gaussian", "family:x,x2"})
    EXPECT_FALSE(matched_moments(word, 1, std::vector<double>{0.5, 0.5}).has_value()) << word;
}

}  // namespace
}  // namespace selfnorm
