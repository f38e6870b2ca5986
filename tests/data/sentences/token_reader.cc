#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/sentences/reading.h"

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
      "ends a sentence; remove the extra columns, or add what line 1 lacks");
  EXPECT_TRUE(reading.error("a X\nb\n").ends_with("; add what is missing here, such as its label"));
  const std::string marked =
      "; a line that begins with # is a token, only CoNLL-U has comments: say format conllu if it is that";
  EXPECT_TRUE(reading.error("# a comment\na X\nb Y\n").ends_with(marked));
  EXPECT_TRUE(reading.error("a X\n# a comment\nb Y\n").ends_with(marked));
  EXPECT_EQ(
      reading.error("a\nb\n"),
      "d:1: found one column, expected a word and its label at least, apart by a tab or blanks; add the "
      "labels, or give a file that has them");
  const std::string joined =
      "; if ';' separates columns, make tabs of it (tr ';' '\\t' < FILE > NEW); a table is for 'selfnorm "
      "train "
      "classifier'";
  EXPECT_TRUE(reading.error("a;X\nb;Y\n").ends_with(joined));
  EXPECT_TRUE(reading.error("text;label\nwell done;X\n").ends_with(joined));
  EXPECT_EQ(reading.error("1,5\n2,5\n").find("tr ','"), std::string::npos);
  EXPECT_EQ(reading.error("a X\nNew,York B Y\n").find("tr ','"), std::string::npos);  // a column too many
  EXPECT_EQ(reading.learn("a X O\nb Y P\n").last_values, 0u);
  reading.options.target = "0";
  EXPECT_EQ(reading.learn("a X O\nb Y P\nc Y P\n").last_values, 2u);
  reading.options.target = "";
  EXPECT_EQ(
      reading.error("\na X\n\nb X\n"),
      "d:2: found one label, 'X', here and in all 2 tokens, expected two at least: is column 1 (from 0) the "
      "target, and is the "
      "file one of columns? target and format say otherwise");
  EXPECT_EQ(
      reading.error("a\tX\nb\t\n"),
      "d:2: found an empty label in column 1 (from 0), expected one for every token; add it, or take the "
      "sentence out");
  for (const char* empty : {"", "\n", "\n \t\r\n\n"})
    EXPECT_EQ(reading.error(empty),
              "d: found no sentence; expected a token a line and a blank line between sentences: add some, "
              "or give another file");
  EXPECT_EQ(reading.error("a X\nb\0 Y\n"s), "d:2: found a NUL byte, expected text in UTF-8, a token a line");
  EXPECT_NE(
      reading.message([&] { learn_sequences(reading.scratch.path("none"), {}); }).find("cannot read none"),
      std::string::npos);
  reading.options.target = "2";
  EXPECT_EQ(
      reading.error("\na X\n"),
      "d:2: found 2 columns, but the target is column '2'; expected 0 to 1, counted from 0; without it the "
      "last one is taken");
  reading.options.min_count = 0;
  EXPECT_EQ(reading.error("a X\n"), "found a cut-off of attributes of 0, expected 1 or more");
}

TEST(TokenReader, BadConllu) {
  Reading reading;
  reading.options.format = SequenceFormat::conllu;
  EXPECT_EQ(reading.error("# c\n1\ta\tX\n"),
            "d:2: found 3 columns, separated by tabs, expected the 10 of CoNLL-U; for other columns say "
            "format columns");
  EXPECT_NE(reading.error("1 2 3 4 5 6 7 8 9 10\n").find("d:1: found 1 column, separated by tabs"),
            std::string::npos);
  for (const char* id : {"x", "#", "1-", "-1", "1.x", ""})
    EXPECT_EQ(
        reading.error(fmt::format("{}\ta\ta\tX\t_\t_\t_\t_\t_\t_\n", id)),
        fmt::format("d:1: found '{}' in the first column, expected the id of a CoNLL-U token: 1, 2, ..., a "
                    "range 1-2 or an empty node 1.1; for other columns say format columns",
                    id));
  EXPECT_NE(reading.error("# only\n").find("found no sentence"), std::string::npos);
  // _ leaves a category open, and is a value of lists.
  EXPECT_EQ(reading.error("1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n2\tb\tb\t_\t_\t_\t_\t_\t_\t_\n"),
            "d:2: found _ in column 3, which says that CoNLL-U has no label there, expected one for every "
            "token of training data; take the sentence out, or choose another target");
  reading.options.target = "5";
  EXPECT_EQ(reading.learn("1\ta\ta\tX\t_\tN=1\t_\t_\t_\t_\n2\tb\tb\t_\t_\t_\t_\t_\t_\t_\n").encoder.labels,
            (Strings{"N=1", "_"}));
  reading.options.target = "10";
  EXPECT_EQ(
      reading.error(kConllu),
      "d:4: found 10 columns, but the target is column '10'; expected 0 to 9, counted from 0, or a name "
      "such as UPOS");
  reading.options.target = "FORM";
  EXPECT_EQ(reading.error(kConllu).find("d:4: the target is column 1 of CoNLL-U, the word form"), 0u);
}

// Blank lines separate, as many as there are; what stands between them has tokens.
TEST(TokenReader, EmptySentences) {
  Reading reading;
  const std::string token = "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n", other = "1\tb\tb\tY\t_\t_\t_\t_\t_\t_\n",
                    range = "1-2\ta\ta\tX\t_\t_\t_\t_\t_\t_\n";
  const std::string empty =
      ": found a sentence without a token, expected one at least before the blank line that ends it; take "
      "its "
      "lines out";
  reading.options.format = SequenceFormat::conllu;
  EXPECT_EQ(reading.learn("\n\n# c\n" + token + " \n\r\n\n" + other + "\n\n\n# the end\n").data.sentences(),
            2u);
  EXPECT_EQ(reading.error(token + other + "\n# c\n# d\n\n" + token), "d:4" + empty);
  EXPECT_EQ(reading.error("# c\n" + range + " \n" + token + other), "d:1" + empty);
  EXPECT_EQ(reading.error(token + other + "\n" + range), "d:4" + empty);
  EXPECT_EQ(reading.error(token + other + "\n# the end\n\n"), "d:4" + empty);
  reading.options.format = SequenceFormat::columns;
  EXPECT_EQ(reading.learn("\n\na X\n\n\t\n\nb Y\n\n\n").data.sentences(), 2u);
  EXPECT_EQ(reading.error("a X\nb Y\n\n# sentence=1 rank=1\n\nb Y\n"), "d:4" + empty);
  EXPECT_EQ(reading.error("a X\nb Y\n\n# sentence=1 rank=1\n"), "d:4" + empty);
  reading.options.format = SequenceFormat::attributes;
  EXPECT_EQ(reading.learn("\n\nX\ta\n\n\t\n\nY\tb\n\n\n").data.sentences(), 2u);
}

// The lines that `tag` writes before labellings are known at the head of a sentence alone.
TEST(TokenReader, MarksOfLabellings) {
  Reading reading;
  const std::string mark = "# sentence=4 rank=2 log_prob=-1.5 kind=raw\r\n";
  const std::string token = "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n", other = "1\tb\tb\tY\t_\t_\t_\t_\t_\t_\n";
  for (const std::string& text :
       {mark + "a X\n\n" + mark + "b Y\n", mark + "# c\n" + token + "\n" + mark + other,
        mark + "X\ta=1\tb=2\n\n" + mark + "Y\tb=1\n"}) {
    const SequenceRead read = reading.learn(text);
    EXPECT_EQ(read.encoder.labels, (Strings{"X", "Y"})) << text;
    EXPECT_EQ(read.data.positions(), 2u);
    SequenceStream stream(reading.scratch.file("s", text), read.encoder, false);
    Sequences sentence;
    SentenceText words;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(stream.next(sentence, words));
      ASSERT_TRUE(words.mark);
      EXPECT_EQ(words.mark->sentence, 4u);
      EXPECT_EQ(words.mark->rank, 2u);
      for (const auto& line : words.others) EXPECT_EQ(line.text, "# c");
    }
    EXPECT_FALSE(stream.next(sentence, words));
    EXPECT_FALSE(words.mark);
  }
  EXPECT_NE(reading.error("a X\n# sentence=0 rank=1\nb Y\n").find("d:2: found 3 columns"), std::string::npos);
  EXPECT_NE(reading.error("# sentence=0 rank=one\nb Y\n").find("d:2: found 2 columns"), std::string::npos);
}

TEST(TokenReader, StreamsGiveTheBytesAsRead) {
  Reading reading;
  const SequenceRead read = reading.learn("a\xFF X\nb Y\n");
  Sequences sentence;
  SentenceText text;
  SequenceStream stream(reading.scratch.file("s", "b Y\na\xFF X\n\xE2\tZ\r\n"), read.encoder, false);
  ASSERT_TRUE(stream.next(sentence, text));
  EXPECT_EQ(text.tokens, (std::vector<Strings>{{"b", "Y"}, {"a\xFF", "X"}, {"\xE2", "Z"}}));
  EXPECT_GT(sentence.unigram.attributes(1).size(), sentence.unigram.attributes(2).size());
}

TEST(TokenReader, AnotherFormatThanTheModels) {
  const Reading reading;
  const SequenceEncoder encoder = reading.learn("a X\nb Y\n").encoder;
  const std::string hint = "; for CoNLL-U say format conllu";
  const std::string token = "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n";
  EXPECT_TRUE(reading.read_error("# text = a b\n" + token, encoder, false).ends_with(hint));
  EXPECT_TRUE(reading.read_error(token, encoder, true).ends_with(hint));
  EXPECT_NE(reading.read_error("# newdoc\n" + token, encoder, true).find("say format conllu"),
            std::string::npos);
  EXPECT_EQ(reading.read_error("a b c\n", encoder, true).find("conllu"), std::string::npos);
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
