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

TEST(KnownLabels, NumbersAreFoundWithoutATable) {
  const KnownLabels known(ClassNames::numbers(1000));
  EXPECT_EQ(known.find("0"), 0u);
  EXPECT_EQ(known.find("+999"), 999u);
  for (const char* other : {"1000", "-1", "007", "1.0", "", "x"}) EXPECT_EQ(known.find(other), std::nullopt);
  EXPECT_NE(known.unseen("x").find("one of the model's 1000 labels, such as '0'"), std::string::npos)
      << known.unseen("x");
}

TEST(ClassNames, AreWhatWasPut) {
  const std::vector<std::string> strings{"0", "1", "two", "", "4"};
  const ClassNames names(strings), numbers{"0", "1", "2"};
  EXPECT_EQ(names.all(), strings);
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.end()), strings);
  EXPECT_FALSE(names.are_numbers());
  EXPECT_TRUE(numbers.are_numbers());
  EXPECT_EQ(numbers, ClassNames::numbers(3));
  EXPECT_EQ(numbers[2], "2");
  for (const char* other : {"00", "+0", "1"}) EXPECT_FALSE(ClassNames{other}.are_numbers()) << other;
  ClassNames longer = names;
  longer.push_back("five");
  EXPECT_EQ(names.size(), 5u);  // a copy of its own
  EXPECT_EQ(longer[5], "five");
  EXPECT_NE(longer, names);
}

}  // namespace
}  // namespace selfnorm
