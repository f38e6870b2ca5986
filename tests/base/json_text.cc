#include "base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace selfnorm::test {
namespace {

using nlohmann::json;

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonText, NestsToItsBoundAndNoDeeper) {
  EXPECT_TRUE(bounded_json<json>(nested(kDeepestJson)).is_array());
  EXPECT_TRUE(bounded_json<json>(nested(kDeepestJson + 1)).is_discarded());
  EXPECT_TRUE(bounded_json<json>(std::string(1 << 20, '[')).is_discarded());
  EXPECT_TRUE(bounded_json<json>("{").is_discarded());
}

TEST(JsonText, BracketsInStringsAreText) {
  const std::string text = "\"\\\"" + std::string(200, '{') + "\"";
  EXPECT_TRUE(bounded_json<json>("[" + text + "]").is_array());
}

}  // namespace
}  // namespace selfnorm::test
