#include "selfnorm/runtime/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "selfnorm/runtime/file_error.h"

namespace selfnorm::runtime {
namespace {

std::string file_of(const std::string& header, size_t data) {
  const uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(data, '\0');
}

Safetensors parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "m.st");
}

std::string error_of(const std::string& header, size_t data) {
  try {
    parse(file_of(header, data));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string bytes = file_of(
      R"( {"__metadata__":{"a":"\u00e9\uD83D\uDE00\n"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("empty":{"data_offsets":[8,8],"shape":[0,3],"dtype":"I64"},"s":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}  )",
      9);
  const Safetensors file = parse(bytes);
  EXPECT_EQ(file.metadata.find("a")->second, "é😀\n");
  ASSERT_NE(file.find("w"), nullptr);
  EXPECT_EQ(file.find("w")->shape_text(), "[2, 1]");
  EXPECT_EQ(file.find("w")->elements(), 2u);
  EXPECT_EQ(file.find("empty")->elements(), 0u);
  EXPECT_EQ(file.find("s")->elements(), 1u);
  EXPECT_EQ(file.find("v"), nullptr);
  EXPECT_TRUE(parse(file_of("{}", 0)).tensors.empty());
}

struct Hostile {
  const char* header;
  size_t data;
  const char* message;
};

TEST(Safetensors, RefusesHostileHeaders) {
  const std::vector<Hostile> cases = {
      {"", 0, "expected '{', found the end"},
      {"[]", 0, "expected '{'"},
      {"{} x", 0, "the end of the header"},
      {"{,}", 0, "expected '\"'"},
      {R"({"a":1})", 0, "expected '{'"},
      {R"({"a":{}})", 0, "expected '\"'"},
      {R"({"a":{"dtype":"F32"}})", 0, "dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "a dtype such as F32"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "\"dtype\" is repeated"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", 4, "instead of \"more\""},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "a non-negative integer"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "expected ']'"},
      {R"({"a":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}})", 4, "leading zeros"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4, "below 2^64"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "64 bits"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "expected 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "outside the 3 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "outside"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, "cover 4 of the 5"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
       7, "overlap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})",
       7, "a hole"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})",
       7, "appears twice"},
      {R"({"__metadata__":{"a":"b","a":"c"}})", 0, "\"a\" is repeated"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "one __metadata__"},
      {R"({"__metadata__":{"a":1}})", 0, "expected '\"'"},
      {R"({"__metadata__":{"a":"\x"}})", 0, "one of"},
      {R"({"__metadata__":{"a":"\uD800"}})", 0, "high surrogate"},
      {R"({"__metadata__":{"a":"\uDC00"}})", 0, "high surrogate"},
      {R"({"__metadata__":{"a":"\uD800\u0041"}})", 0, "low surrogate"},
      {R"({"__metadata__":{"a":"\u00g0"}})", 0, "hexadecimal"},
      {R"({"__metadata__":{"a":"b)", 0, "to end the string"},
      {"{\"__metadata__\":{\"a\":\"\n\"}}", 0, "control characters"},
      {"{\"__metadata__\":{\"a\":\"\xC0\x80\"}}", 0, "UTF-8"},
      {"{\"__metadata__\":{\"a\":\"\xED\xA0\x80\"}}", 0, "UTF-8"},
      {"{\"__metadata__\":{\"a\":\"\xE0\x80\x80\"}}", 0, "UTF-8"},
      {"{\"__metadata__\":{\"a\":\"\xF4\x90\x80\x80\"}}", 0, "UTF-8"},
      {"{\"__metadata__\":{\"a\":\"\x80\"}}", 0, "UTF-8"},
  };
  for (const Hostile& hostile : cases) {
    const std::string message = error_of(hostile.header, hostile.data);
    EXPECT_NE(message.find(hostile.message), std::string::npos) << hostile.header << "\n" << message;
    EXPECT_EQ(message.rfind("m.st: ", 0), 0u) << message;
  }
}

TEST(Safetensors, RefusesHeaderLengthsBeyondTheFile) {
  EXPECT_THROW(parse(""), FormatError);
  EXPECT_THROW(parse("1234567"), FormatError);
  EXPECT_THROW(parse(std::string(8, '\xFF')), FormatError);
  EXPECT_THROW(parse(file_of("{}", 0).substr(0, 9)), FormatError);
  std::string huge(16, '\0');
  huge[7] = 1;
  EXPECT_THROW(parse(huge), FormatError);
}

}  // namespace
}  // namespace selfnorm::runtime
