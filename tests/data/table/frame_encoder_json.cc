#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "data/table/frame_encoder.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Texts = std::vector<std::string>;

TEST(FrameEncoderJson, Damaged) {
  const std::string good =
      R"({"standardise":true,"columns":[{"name":"a","kind":"numeric","mean":1,"scale":2,"value":true,)"
      R"("missing":false},{"name":"g","kind":"categorical","levels":["u","v"],"missing":false}]})";
  EXPECT_EQ(FrameEncoder::from_json(good).columns(), (Texts{"a", "g"}));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"scale\":2", "\"scale\":0"},
                                                        {"\"scale\":2", "\"scale\":-1"},
                                                        {"\"scale\":2", "\"scale\":1e999"},
                                                        {"\"scale\":2", "\"scale\":null"},
                                                        {"\"scale\":2", "\"scale\":true"},
                                                        {"\"mean\":1", "\"mean\":\"1\""},
                                                        {"\"mean\":1", "\"mean\":-1e999"},
                                                        {"\"mean\":1,", ""},
                                                        {"\"numeric\"", "\"number\""},
                                                        {"\"value\":true", "\"value\":false"},
                                                        {"\"value\":true", "\"value\":1"},
                                                        {"\"name\":\"g\"", "\"name\":\"a\""},
                                                        {"[\"u\",\"v\"]", "[\"u\",\"u\"]"},
                                                        {"[\"u\",\"v\"]", "[1]"},
                                                        {"[\"u\",\"v\"]", "[]"},
                                                        {"[\"u\",\"v\"]", "\"u\""},
                                                        {"\"standardise\":true,", ""},
                                                        {"}]}", "}]"},
                                                        {"[{\"name\":\"a\"", "[7,{\"name\":\"a\""}})
    EXPECT_THROW(FrameEncoder::from_json(changed(from, to)), Error) << to;
  EXPECT_THROW(FrameEncoder::from_json(""), Error);
  EXPECT_THROW(FrameEncoder::from_json("[]"), Error);
  EXPECT_THROW(FrameEncoder::from_json("null"), Error);
  EXPECT_THROW(FrameEncoder::from_json(std::string(1 << 20, '[')), Error);
}

}  // namespace
}  // namespace selfnorm
