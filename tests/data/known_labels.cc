#include <gtest/gtest.h>

#include <vector>

#include "data/string_index.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(KnownLabels, APlusBeforeADigitDoesNotCount) {
  const std::vector<std::string> labels{"-1", "+1", "+x"};
  const KnownLabels known(labels);
  EXPECT_EQ(known.find("1"), 1u);
  EXPECT_EQ(known.find("+1"), 1u);
  EXPECT_EQ(known.find("-1"), 0u);
  EXPECT_EQ(known.find("x"), std::nullopt);
  const std::vector<std::string> twice{"1", "+1"};
  EXPECT_THROW(KnownLabels{twice}, Error);
}

}  // namespace
}  // namespace selfnorm
