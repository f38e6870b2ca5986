#include <gtest/gtest.h>

#include "data/dataset.h"
#include "data/points/point_source.h"
#include "data/read.h"
#include "data/reader_checks.h"
#include "data/table/frame.h"

namespace selfnorm {
namespace {

TEST(RowNumbers, CountWhatIsNoRow) {
  RowNumbers numbers;
  EXPECT_EQ(numbers[7], 7u);
  numbers.skip(0);
  numbers.skip(2);
  numbers.skip(2);
  EXPECT_EQ(numbers[0], 1u);
  EXPECT_EQ(numbers[1], 2u);
  EXPECT_EQ(numbers[2], 5u);
}

// One bad row may be skipped.
std::vector<uint64_t> numbers_of(const std::string& name, const std::string& text,
                                 Format format = Format::automatic) {
  ReadOptions options;
  options.format = format;
  options.skip_bad = 1;
  options.require_labels = false;
  std::vector<uint64_t> out;
  for (const uint32_t bytes : {1u, 1u << 20}) {
    options.block_bytes = bytes;
    const Dataset data = read_dataset_from_memory(name, text, options).data;
    std::vector<uint64_t> found;
    for (uint64_t i = 0; i < data.examples(); ++i) found.push_back(data.numbers[i]);
    EXPECT_TRUE(out.empty() || out == found) << name;
    out = found;
  }
  return out;
}

TEST(RowNumbers, OfEveryFormatOfLines) {
  using Numbers = std::vector<uint64_t>;
  EXPECT_EQ(numbers_of("a.svm", "1 1:2\n\n# no row\n0 1:3\n \n1 1:1\n\n"), (Numbers{0, 3, 5}));
  EXPECT_EQ(numbers_of("a.svm", "1 1:2\nbad x\n0 1:3\n"), (Numbers{0, 2}));
  EXPECT_EQ(numbers_of("a.csv", "x,label\n1,a\n\n2,b\n?,b\n\n3,a\n"), (Numbers{0, 2, 5}));
  EXPECT_EQ(numbers_of("a.txt", "a\tone\n\nb\ttwo\n", Format::text), (Numbers{0, 2}));
  // groups: the one that was left out
  EXPECT_EQ(
      numbers_of("a.svm", "1 qid:1 1:2\n0 qid:1 1:1\n\n1 qid:2 1:x\n0 qid:2 1:1\n1 qid:3 1:2\n0 qid:3 1:3\n"),
      (Numbers{0, 2}));
}

TEST(RowNumbers, OfPointsAndFrames) {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "x,y\n1,2\n\n\n3,4\n");
  const auto points = open_points(path);
  ASSERT_EQ(points->rows(), 2u);
  EXPECT_EQ(points->number(1), 3u);
  const Frame frame = read_frame(path);
  EXPECT_EQ(frame.numbers[0], 0u);
  EXPECT_EQ(frame.numbers[1], 3u);
  EXPECT_EQ(frame.line[1], 5u);
}

}  // namespace
}  // namespace selfnorm
