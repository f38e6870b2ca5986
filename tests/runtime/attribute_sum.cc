#include <gtest/gtest.h>

#include "selfnorm/runtime/crf_layout.h"

namespace selfnorm::runtime {
namespace {

TEST(AttributeSum, IsThatOfTheColumn) {
  const uint32_t number[] = {2, 0};
  const float value[] = {0.5f, -3};
  const double matrix[] = {1, 10, 2, 20, 4, 40};
  EXPECT_EQ(attribute_sum({number, nullptr, 2}, matrix, 2, 1), 50);
  EXPECT_EQ(attribute_sum({number, value, 2}, matrix, 2, 1), -10);
  EXPECT_EQ(attribute_sum({number, value, 1}, matrix, 1, 0), 1);
}

TEST(AttributeSum, NoAttributesNeedNoMatrix) {
  EXPECT_EQ(attribute_sum<float>({nullptr, nullptr, 0}, nullptr, 4, 3), 0);
}

TEST(AttributeSum, IsInDouble) {
  const uint32_t number[] = {0, 1};
  const float matrix[] = {1e8f, 1};
  EXPECT_EQ(attribute_sum({number, nullptr, 2}, matrix, 1, 0), 100000001);
}

}  // namespace
}  // namespace selfnorm::runtime
