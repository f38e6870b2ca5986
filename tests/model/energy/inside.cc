#include <gtest/gtest.h>

#include "model/energy/energy.h"
#include "model/energy/exponential_family.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::string refusal(const Energy& energy, const std::vector<float>& x, std::span<const uint64_t> numbers,
                    uint64_t first) {
  try {
    require_inside(energy, {x.data(), x.size() / energy.dimension(), energy.dimension()}, numbers, first);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Inside, NamesTheRowItsValuesAndWhatWasExpected) {
  const ExponentialFamily half_line({.word = "exponential", .dimension = 2});
  const std::vector<uint64_t> numbers = {40, 7};
  EXPECT_EQ(refusal(half_line, {1, 2, 0, 3}, numbers, 0), "");
  EXPECT_EQ(
      refusal(half_line, {1, 2, 3, -1}, numbers, 0),
      "row 7 is (3, -1), outside the support of exponential: expected values in [0, inf]; drop it or choose "
      "another family");
  EXPECT_EQ(refusal(half_line, {1, 2, 3, -1}, {}, 10).substr(0, 6), "row 11");
  const ExponentialFamily bits({.word = "ising", .dimension = 2}),
      counts({.word = "poisson", .dimension = 1});
  EXPECT_NE(refusal(bits, {0, 2}, {}, 0).find("expected 0 or 1"), std::string::npos);
  const ExponentialFamily wide({.word = "bernoulli", .dimension = 5000});
  EXPECT_LT(refusal(wide, std::vector<float>(5000, 7), {}, 0).size(), 300u);
  EXPECT_NE(refusal(counts, {0.5f}, {}, 0).find("expected whole numbers from 0"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
