#include <gtest/gtest.h>

#include "data/array/array_file.h"
#include "data/array_bytes.h"
#include "data/read.h"

namespace selfnorm {
namespace {

constexpr size_t kMany = 101'000'000;

class Expansion : public testing::Test {
 protected:
  void TearDown() override { limit_expansion(kLargestExpansion); }
};

bool passes(uint64_t compressed, uint64_t size) {
  try {
    check_expansion("f", compressed, size);
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("max-expansion"), std::string::npos) << error.what();
    return false;
  }
  return true;
}

TEST_F(Expansion, LimitsManyBytesOfFew) {
  EXPECT_TRUE(passes(1, 100'000'000));
  EXPECT_TRUE(passes(1'000'000, 200'000'000));
  EXPECT_FALSE(passes(1'000'000, 200'000'001));
  limit_expansion(1000);
  EXPECT_TRUE(passes(1'000'000, 200'000'001));
  EXPECT_FALSE(passes(200'000, 200'000'001));
}

TEST_F(Expansion, OfGzipIsNoticedWhileReading) {
  std::string text;
  while (text.size() < kMany) text += "1 1:1\n0 1:0\n";
  const std::string error = read_error("a.svm.gz", gzip(text));
  EXPECT_NE(error.find("max-expansion"), std::string::npos) << error;
}

TEST_F(Expansion, OfAMemberIsNoticedByItsDirectory) {
  const Scratch scratch;
  const std::string array = npy("<f4", "(25250000, 1)", std::string(kMany, '\0'));
  const ArrayFile file(scratch.file("a.npz", zip({{"x.npy", array, true}})));
  EXPECT_NE(file.find("x")->problem.find("max-expansion"), std::string::npos) << file.find("x")->problem;
}

}  // namespace
}  // namespace selfnorm
