#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reading.h"

namespace selfnorm {
namespace {

TEST(TokenReader, TabsKeepSpacesWithinFields) {
  Reading reading;
  reading.options.templates = "U%x[0,0]";
  EXPECT_EQ(reading.learn("New York \tA\nx\tB\n").encoder.unigrams, (Strings{"UNew York", "Ux"}));
}

TEST(TokenReader, BytesThatAreNotUtf8AreReplaced) {
  Reading reading;
  reading.options.templates = "U%x[0,0]";
  EXPECT_EQ(reading.learn("na\xEFve A\n\xC3\xA9 B\n").encoder.unigrams,
            (Strings{"Una\xEF\xBF\xBDve", "U\xC3\xA9"}));
}

TEST(TokenReader, BadColumns) {
  Reading reading;
  EXPECT_EQ(
      reading.error("a X\nb c Y\n"),
      "d:2: found 3 columns, expected 2, as in line 1: every token has the same columns, and a blank line "
      "ends a sentence");
  const std::string marked = "; a line that begins with # is a token, only CoNLL-U has comments";
  EXPECT_TRUE(reading.error("# a comment\na X\nb Y\n").ends_with(marked));
  EXPECT_TRUE(reading.error("a X\n# a comment\nb Y\n").ends_with(marked));
  EXPECT_EQ(reading.error("a\nb\n"), "d:1: found one column, expected a word and its label at least");
  EXPECT_EQ(
      reading.error("a X\n\nb X\n"),
      "d: found one label, 'X', in all 2 tokens, expected two at least: is column 2 the target, and is the "
      "file one of columns? --target and --format say otherwise");
  EXPECT_EQ(reading.error("a\tX\nb\t\n"),
            "d:2: found an empty label in column 2, expected one for every token");
  for (const char* empty : {"", "\n", "\n \t\r\n\n"})
    EXPECT_EQ(reading.error(empty),
              "d: found no sentence, expected a token a line and a blank line between sentences");
  EXPECT_EQ(reading.error("a X\nb\0 Y\n"s), "d:2: found a NUL byte, expected text in UTF-8, a token a line");
  EXPECT_NE(
      reading.message([&] { learn_sequences(reading.scratch.path("none"), {}); }).find("cannot read none"),
      std::string::npos);
  reading.options.target = 3;
  EXPECT_EQ(
      reading.error("\na X\n"),
      "d:2: found 2 columns, but the target is column 3, counted from 1; expected 1 to 2, or 0 for the last");
  reading.options.min_count = 0;
  EXPECT_EQ(reading.error("a X\n"), "found a cut-off of attributes of 0, expected 1 or more");
}

TEST(TokenReader, BadConllu) {
  Reading reading;
  reading.options.format = SequenceFormat::conllu;
  EXPECT_EQ(reading.error("# c\n1\ta\tX\n"),
            "d:2: found 3 columns, separated by tabs, expected the 10 of CoNLL-U; for other columns say "
            "--format columns");
  EXPECT_NE(reading.error("1 2 3 4 5 6 7 8 9 10\n").find("d:1: found 1 column, separated by tabs"),
            std::string::npos);
  for (const char* id : {"x", "#", "1-", "-1", "1.x", ""})
    EXPECT_EQ(
        reading.error(fmt::format("{}\ta\ta\tX\t_\t_\t_\t_\t_\t_\n", id)),
        fmt::format("d:1: found '{}' in the first column, expected the id of a CoNLL-U token: 1, 2, ..., a "
                    "range 1-2 or an empty node 1.1; for other columns say --format columns",
                    id));
  EXPECT_NE(reading.error("# only\n\n1-2\ta\ta\tX\t_\t_\t_\t_\t_\t_\n").find("found no sentence"),
            std::string::npos);
  reading.options.target = 11;
  EXPECT_EQ(reading.error(kConllu),
            "d:4: found 10 columns, but the target is column 11, counted from 1; expected 1 to 10, or 0 for "
            "the last");
  reading.options.target = 2;
  EXPECT_EQ(reading.error(kConllu).find("d:4: the target is column 2 of CoNLL-U, the word form"), 0u);
}

// Lines and sentences of any length pass through a buffer of fixed size.
TEST(TokenReader, LongLinesAndSentences) {
  Reading reading;
  reading.options.templates = "U%x[0,0]\nU-%x[-1,0]/%h[0,0]\n";
  const std::string word(600'000, 'x');
  std::string text = word + " A\n";
  for (int i = 0; i < 10'000; ++i) text += "b B\n";
  const SequenceRead read = reading.learn(text);
  EXPECT_EQ(read.data.sentences(), 1u);
  EXPECT_EQ(read.data.positions(), 10'001u);
  EXPECT_EQ(read.encoder.unigrams[0], "U" + word);
}

}  // namespace
}  // namespace selfnorm
