#include <gtest/gtest.h>

#include <fstream>

#include "data/read.h"
#include "scratch.h"

namespace selfnorm {
namespace {

using Cells = std::map<uint64_t, std::string>;

Cells texts_of(const std::string& name, const std::string& content, std::vector<uint64_t> numbers) {
  const Scratch folder;
  std::ofstream(folder / name) << content;
  return row_texts(folder / name, {}, numbers);
}

TEST(RowText, RowsHaveTheNumbersOfTheInput) {
  EXPECT_EQ(texts_of("a.csv", "x,label\n1,a\n\n2,\"b\nc\"\n3,d\n", {0, 2, 3, 9}),
            (Cells{{0, "1,a"}, {2, "2,\"b c\""}, {3, "3,d"}}));  // the blank line counts, the header does not
  EXPECT_EQ(texts_of("a.svm", "# c\n1 1:2\n0 2:3\n", {1}), (Cells{{1, "1 1:2"}}));
  EXPECT_EQ(texts_of("a.txt", "yes\tgood day\nno\tbad day\n", {1}), (Cells{{1, "no bad day"}}));
  EXPECT_EQ(texts_of("a.jsonl", "{\"x\":1,\"y\":2}\n{\"x\":3,\"y\":4}\n", {1}),
            (Cells{{1, "{\"x\":3,\"y\":4}"}}));
  EXPECT_TRUE(texts_of("a.csv", "x,label\n1,a\n2,b\n", {}).empty());
  EXPECT_TRUE(row_texts("-", {}, std::vector<uint64_t>{0}).empty());
}

TEST(RowText, LongRowsAreCutAndControlsAreBlanks) {
  const std::string row = shown_row(std::string(500, 'a') + "\x1b[31m" + std::string(500, 'b'));
  EXPECT_LE(row.size(), 203u);
  EXPECT_NE(row.find("..."), std::string::npos);
  EXPECT_EQ(shown_row("a\x1b[2Jb\r"), "a [2Jb ");
}

}  // namespace
}  // namespace selfnorm
