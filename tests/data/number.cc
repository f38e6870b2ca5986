#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

// The value that the reader gives to a decimal.
float value_of(const std::string& decimal) {
  return read_bytes("a.svm", fmt::format("1 1:{}\n", decimal)).data.features.sparse.value[0];
}

void expect_same_as_libc(const std::string& decimal) {
  float expected = std::strtof(decimal.c_str(), nullptr);
  float found = value_of(decimal);
  EXPECT_EQ(std::memcmp(&expected, &found, sizeof(float)), 0) << decimal << " " << expected << " " << found;
}

TEST(Number, HardCases) {
  for (const char* decimal : {"0",
                              "-0",
                              "1.",
                              ".5",
                              "+2.5",
                              "1e5",
                              "1E-3",
                              "16777217",
                              "16777219",
                              "0.1",
                              "3.4028235e38",
                              "1.17549435e-38",
                              "1e-45",
                              "7.0064923e-46",
                              "0.000000000000000000000000000000000000011754943",
                              "9007199254740993",
                              "18446744073709551615",
                              "99999999999999999999",
                              "1.00000005960464477539062500",
                              "1.0000000596046447",
                              "1.0000000596046449",
                              "1e-400",
                              "0.30000001192092896",
                              "00000000000000000000001",
                              "33554431.5",
                              "0.9999999701976776"})
    expect_same_as_libc(decimal);
}

RC_GTEST_PROP(Number, SameAsLibc, (uint64_t mantissa, bool negative)) {
  size_t digits = *rc::gen::inRange<size_t>(0, 20);
  std::string decimal = std::to_string(mantissa >> *rc::gen::inRange(0, 64));
  size_t point = decimal.size() - std::min(decimal.size(), digits);
  decimal = fmt::format("{}.{}", decimal.substr(0, point), decimal.substr(point));
  expect_same_as_libc(negative ? fmt::format("-{}", decimal) : decimal);
}

// Decimals of exact midpoints between two floats, and their neighbours.
RC_GTEST_PROP(Number, Midpoints, (uint32_t bits)) {
  float low = std::abs(std::ldexp(static_cast<float>(bits & 0xFFFFFFu), *rc::gen::inRange(-40, 20)));
  double middle = (double{low} + double{std::nextafter(low, std::numeric_limits<float>::infinity())}) / 2;
  char decimal[64];
  for (const char* format : {"%.17f", "%.12f", "%.17g", "%.19g", "%.15g"}) {
    std::snprintf(decimal, sizeof decimal, format, middle);
    expect_same_as_libc(decimal);
  }
}

}  // namespace
}  // namespace selfnorm
