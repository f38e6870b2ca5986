#include "selfnorm/runtime/shortened.h"

#include <gtest/gtest.h>

namespace selfnorm::runtime {
namespace {

TEST(Shortened, KeepsBothEndsOfLongText) {
  EXPECT_EQ(shortened("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(shortened("abcdefghi", 8), "abcdef...hi");
  EXPECT_EQ(shortened("", 8), "");
  EXPECT_EQ(shortened(std::string(5000, 'x')).size(), 103u);
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("ééééé", 8), "ééé...é");
  EXPECT_EQ(shortened("aéééé", 8), "aéé...é");
  EXPECT_EQ(shortened(std::string(20, '\x80'), 8), "...");
}

}  // namespace
}  // namespace selfnorm::runtime
