#include "family/density/train/column_moments.h"

#include <gtest/gtest.h>

#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

ColumnReading moments_of(const std::vector<float>& column) {
  ColumnReading out(1);
  for (const float x : column) out.add({&x, 1});
  return out;
}

std::vector<float> normal_column(double mean, double deviation, int count = 500) {
  RandomStream random(1);
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<float>(mean + deviation * random.normal()));
  return out;
}

std::string refusal(const std::vector<float>& column, const std::vector<std::string>& names = {}) {
  try {
    require_spread(moments_of(column), names);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ColumnReading, AreThoseOfTheColumn) {
  const ColumnReading m = moments_of({1, 2, 6});
  EXPECT_DOUBLE_EQ(m.mean[0], 3);
  EXPECT_DOUBLE_EQ(m.square[0], 14);
  EXPECT_EQ(m.lower[0], 1);
  EXPECT_EQ(m.upper[0], 6);
  EXPECT_TRUE(m.is_whole());
  EXPECT_FALSE(moments_of({1, -1}).is_whole());
  EXPECT_FALSE(moments_of({1, 0.5f}).is_whole());
}

TEST(ColumnReading, ConstantAndUnresolvedColumnsAreRefused) {
  EXPECT_EQ(refusal({7, 7, 7}, {"b"}),
            "column 'b' is 7 in all 3 training rows, as 32-bit floats: a constant has no density; leave it "
            "out with drop b");
  EXPECT_EQ(refusal(normal_column(1000, 0.1)), "");
  EXPECT_NE(refusal(normal_column(1e6, 0.1)).find("32-bit floats are 0.119 apart there; subtract"),
            std::string::npos);
  EXPECT_NE(refusal(normal_column(1.7e9, 1)).find("as 32-bit floats"), std::string::npos);
}

TEST(ColumnReading, OneValueThatIsTheVarianceAndWholeNumbersAreNamed) {
  EXPECT_TRUE(column_warnings(moments_of(normal_column(0, 1)), {}).empty());
  std::vector<float> outlier = normal_column(0, 1);
  outlier[4] = -1e9f;
  const auto found = column_warnings(moments_of(outlier), {"a"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].find("column 'a': the value -1e+09 is 22 standard deviations"), 0u) << found[0];
  const auto whole = column_warnings(moments_of({1, 2, 5, 3}), {});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_NE(whole[0].find("whole numbers"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
