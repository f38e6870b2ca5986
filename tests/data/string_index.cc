#include "selfnorm/data/string_index.h"

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
  RC_ASSERT(!index.find("a string that was never added").has_value());
}

}  // namespace
}  // namespace selfnorm
