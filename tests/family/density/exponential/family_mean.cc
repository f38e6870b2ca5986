#include <gtest/gtest.h>

#include <cmath>

#include "family/density/exponential/exponential_fit.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(FamilyMean, OfBlocksIsOfAll) {
  const std::vector<float> x{1, 2, 3, 4, 0, 8, 2, 1};
  const ExponentialFamily family({"gaussian", 2});
  FamilyMean whole(family), parts(family);
  whole.add({x.data(), 4, 2});
  parts.add({x.data(), 1, 2});
  parts.add({x.data() + 2, 3, 2});
  EXPECT_EQ(whole.means().t, parts.means().t);
  EXPECT_EQ(whole.means().t, (std::vector<double>{1.5, 3.75, 3.5, 21.25, 4}));  // x, x2, xx
  EXPECT_EQ(parts.rows(), 4u);
}

TEST(FamilyMean, OfTheCarrier) {
  const std::vector<float> x{3, 0, 4};
  const ExponentialFamily family({"poisson", 1});
  FamilyMean mean(family);
  mean.add({x.data(), 3, 1});
  EXPECT_NEAR(mean.means().log_carrier, -(std::log(6.0) + std::log(24.0)) / 3, 1e-14);
}

std::string complaint(const char* word, std::vector<float> x, std::span<const uint64_t> numbers = {}) {
  const ExponentialFamily family({word, 1});
  FamilyMean mean(family);
  try {
    mean.add({x.data(), x.size(), 1}, numbers);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(FamilyMean, RowsOutsideAreNamed) {
  const std::vector<uint64_t> numbers{7, 9};
  EXPECT_NE(
      complaint("exponential", {1, -2}, numbers).find("row 9 is (-2), outside the support of exponential"),
      std::string::npos);
  EXPECT_NE(complaint("exponential", {1, -2}).find("row 1 is"), std::string::npos);
  EXPECT_NE(complaint("gamma", {1, 0}).find("above 0"), std::string::npos);
  EXPECT_NE(complaint("poisson", {1.5f}).find("whole numbers from 0"), std::string::npos);
  EXPECT_NE(complaint("bernoulli", {2}).find("0 or 1"), std::string::npos);
  EXPECT_NE(complaint("von-mises", {4}).find("[-3.14159, 3.14159]"), std::string::npos);
  EXPECT_NE(complaint("gaussian", {NAN}).find("finite"), std::string::npos);
  EXPECT_EQ(complaint("exponential", {0}), "accepted");
}

}  // namespace
}  // namespace selfnorm
