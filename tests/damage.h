// What disks and wires do to files.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

namespace selfnorm::test {

inline std::string flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

// `is_refused` says it of bytes as a file: not of these, but with any of the first bits flipped (those that
// say where the checksum is), any of many others, or bytes taken or added at the end.
inline void expect_damage_is_found(const std::string& bytes,
                                   const std::function<bool(const std::string&)>& is_refused) {
  constexpr size_t kFirst = 80 * 8, kOthers = 200;
  EXPECT_FALSE(is_refused(bytes));
  ASSERT_GT(bytes.size() * 8, kFirst);
  for (size_t bit = 0; bit < kFirst; ++bit) EXPECT_TRUE(is_refused(flipped(bytes, bit))) << "bit " << bit;
  std::minstd_rand random(1);
  for (size_t i = 0; i < kOthers; ++i) {
    const size_t bit = random() % (bytes.size() * 8);
    EXPECT_TRUE(is_refused(flipped(bytes, bit))) << "bit " << bit;
  }
  for (const size_t taken : {1, 7, 64, 100})
    EXPECT_TRUE(is_refused(bytes.substr(0, bytes.size() - taken))) << taken;
  EXPECT_TRUE(is_refused(bytes + '\0'));
  EXPECT_TRUE(is_refused(bytes + bytes));
}

}  // namespace selfnorm::test
