#include "data/string_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace selfnorm {
namespace {

// From an independent program: model files rely on these values.
TEST(StringIndex, HashIsStable) {
  EXPECT_EQ(hash_bytes(""), 0xefd01f60ba992926u);
  EXPECT_EQ(hash_bytes("hello world"), 0x7c6d8c019b6ee5d5u);
}

RC_GTEST_PROP(StringIndex, AgreesWithAMap, (const std::vector<std::string>& strings)) {
  StringIndex index;
  std::map<std::string, uint32_t> expected;
  for (const std::string& s : strings) {
    auto number = expected.emplace(s, static_cast<uint32_t>(expected.size())).first->second;
    RC_ASSERT(index.add(s) == number);
  }
  RC_ASSERT(index.size() == expected.size());
  for (const auto& [s, number] : expected) {
    RC_ASSERT(index.find(s) == std::optional(number));
    RC_ASSERT(index[number] == s);
  }
  RC_ASSERT(StringIndex(index.strings()).strings() == index.strings());
  std::vector<uint32_t> numbers;
  index.find_all(std::vector<std::string_view>(strings.begin(), strings.end()), numbers);
  for (size_t i = 0; i < strings.size(); ++i) RC_ASSERT(numbers[i] == expected[strings[i]]);
  RC_ASSERT(!index.find("a string that was never added").has_value());
}

TEST(StringIndex, ManyStringsAreFoundTogether) {
  std::vector<std::string> strings;
  for (int i = 0; i < 1000; ++i) strings.push_back("string " + std::to_string(i));
  const StringIndex index(strings);
  std::vector<std::string_view> asked;
  for (int i = 0; i < 1000; ++i) {
    asked.push_back(strings[static_cast<size_t>(999 - i)]);
    asked.push_back("another");
  }
  std::vector<uint32_t> numbers;
  index.find_all(asked, numbers);
  ASSERT_EQ(numbers.size(), asked.size());
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(numbers[2 * i], 999 - i);
    EXPECT_EQ(numbers[2 * i + 1], StringIndex::kAbsent);
  }
  StringIndex().find_all(asked, numbers);
  EXPECT_EQ(numbers, std::vector<uint32_t>(asked.size(), StringIndex::kAbsent));
  index.find_all({}, numbers);
  EXPECT_TRUE(numbers.empty());
}

TEST(StringIndex, GoesOnAfterAList) {
  StringIndex index(std::vector<std::string>{"a", "b"});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(index.add(std::to_string(i)), static_cast<uint32_t>(i) + 2);
  EXPECT_EQ(index.find("b"), std::optional<uint32_t>(1));
  EXPECT_THROW(StringIndex(std::vector<std::string>{"a", "a"}), std::exception);
}

}  // namespace
}  // namespace selfnorm
