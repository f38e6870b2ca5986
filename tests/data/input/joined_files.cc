// Several files read as one: a pattern or names, in the order of their names; errors are of a file and its
// own line.
#include <gtest/gtest.h>

#include "data/reader_checks.h"
#include "data/sentences/read_sequences.h"
#include "scratch.h"

namespace selfnorm {
namespace {

std::string error_of(const std::string& path, const ReadOptions& options = {}) {
  try {
    read_dataset(path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(JoinedFiles, RowsComeInTheOrderOfTheNames) {
  const Scratch scratch;
  const std::string third = scratch.file("part-3.svm", "2 1:1\n0 2:4\n"),
                    first =
                        scratch.file("part-1.svm.gz", gzip("0 1:1\n1 2:1") + gzip("\n1 1:2")),  // two members
      second = scratch.file("part-2.svm", "2 2:3\n");
  const Dataset whole = read_bytes("all.svm", "0 1:1\n1 2:1\n1 1:2\n2 2:3\n2 1:1\n0 2:4\n").data;
  expect_equal(read_dataset(scratch.path("part-*"), {}).data, whole);
  expect_equal(read_dataset(scratch.path("part-?.svm*"), {}).data, whole);
  expect_equal(read_dataset(first + "\n" + second + "\n" + third, {}).data, whole);
}

TEST(JoinedFiles, ErrorsNameTheFileAndItsLine) {
  const Scratch scratch;
  scratch.file("a.svm", "0 1:1\n1 2:1\n");
  const std::string bad = scratch.file("b.svm.gz", gzip("1 1:1\n0 1:x\n"));
  scratch.file("c.svm", "0 1:1\n");
  EXPECT_TRUE(error_of(scratch.path("*.svm*")).starts_with(bad + ":2: ")) << error_of(scratch.path("*.svm*"));
  const Scratch tables;  // the line of a header counts in its file
  tables.file("a.csv", "x,y\n1,a\n2,b\n");
  const std::string wrong = tables.file("b.csv", "\xEF\xBB\xBFx,y\n1,a\n2,b,c\n");
  EXPECT_TRUE(error_of(tables.path("*.csv")).starts_with(wrong + ":3: ")) << error_of(tables.path("*.csv"));
  const Scratch damaged;
  damaged.file("a.svm", "0 1:1\n1 2:1\n");
  const std::string cut = damaged.file("b.svm.gz", gzip("1 1:1\n0 1:2\n").substr(0, 15));
  EXPECT_TRUE(error_of(damaged.path("*")).starts_with(cut + ": ")) << error_of(damaged.path("*"));
}

TEST(JoinedFiles, HeadersAreOneOrNone) {
  const Scratch scratch;
  scratch.file("a.csv", "x,z,y\n1,2,a\n2,1,b\n");
  scratch.file("b.csv", "x,z,y\n3,0,a\n");
  expect_equal(read_dataset(scratch.path("*.csv"), {}).data,
               read_bytes("all.csv", "x,z,y\n1,2,a\n2,1,b\n3,0,a\n").data);
  const std::string other = scratch.file("c.csv", "z,x,y\n3,0,a\n");
  EXPECT_TRUE(error_of(scratch.path("*.csv")).starts_with(other + ":1: found the columns in another order"))
      << error_of(scratch.path("*.csv"));
  scratch.file("c.csv", "3,0,a\n");
  EXPECT_TRUE(error_of(scratch.path("*.csv")).starts_with(other + ":1: found no header"))
      << error_of(scratch.path("*.csv"));
  const Scratch bare;
  bare.file("a.csv", "1,2,a\n2,1,b\n");
  bare.file("b.csv", "2,1,b\n1,2,a\n");
  EXPECT_EQ(read_dataset(bare.path("*.csv"), {}).data.examples(), 4u);
}

// Rows that are equal, first in every file: data, unless they are names of columns.
TEST(JoinedFiles, EqualRowsAreNoHeader) {
  const Scratch numbers;
  numbers.file("a.csv", "1,k\n2,l\n");
  numbers.file("b.csv", "1,k\n3,l\n");
  EXPECT_EQ(read_dataset(numbers.path("*.csv"), {}).data.examples(), 4u);
  const Scratch texts;
  texts.file("a.tsv", "ham\tOk lar\nspam\twin now\n");
  texts.file("b.tsv", "ham\tOk lar\nspam\tfree entry\n");
  ReadOptions text;
  text.format = Format::text;
  EXPECT_EQ(read_dataset(texts.path("*.tsv"), text).data.examples(), 4u);
  texts.file("c.tsv", "spam\tcall me\n");  // begins with another row
  EXPECT_EQ(read_dataset(texts.path("*.tsv"), text).data.examples(), 5u);
  const Scratch named;
  named.file("a.tsv", "label\ttext\nham\tOk lar\n");
  named.file("b.tsv", "label\ttext\nspam\twin now\n");
  EXPECT_EQ(read_dataset(named.path("*.tsv"), text).data.examples(), 2u);
}

TEST(JoinedFiles, SentencesHaveNoHeader) {
  const Scratch scratch;
  scratch.file("a.tsv", "The\tDT\ndog\tNN\n\n");
  scratch.file("b.tsv", "The\tDT\ncat\tNN\n\n");
  EXPECT_EQ(learn_sequences(scratch.path("*.tsv"), {}).data.positions(), 4u);
  scratch.file("c.tsv", "It\tPR\n\n");
  EXPECT_EQ(learn_sequences(scratch.path("*.tsv"), {}).data.positions(), 5u);
}

TEST(JoinedFiles, FilesOfNothingAreLeftOut) {
  const Scratch scratch;
  scratch.file("a.csv", "x,z,y\n1,2,a\n2,1,b\n");
  scratch.file("b.csv", "x,z,y\n3,0,a\n");
  scratch.file("c.csv", "");
  EXPECT_EQ(read_dataset(scratch.path("*.csv"), {}).data.examples(), 3u);
}

TEST(JoinedFiles, NoFileIsAnError) {
  const Scratch scratch;
  EXPECT_NE(error_of(scratch.path("part-*")).find("no file matches"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
