#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

using Strings = std::vector<std::string>;
constexpr const char* kText = "greet\tHello, hello world\nbye\tgoodbye world\ngreet\t\xC3\xA9t\xC3\xA9 _x1\n";

TEST(Text, VocabularyOfWordsAndPairs) {
  ReadResult r = read_bytes("a.txt", kText);
  EXPECT_EQ(r.report.format, Format::text);
  EXPECT_EQ(r.data.labels, (Strings{"bye", "greet"}));
  EXPECT_EQ(r.text->vocabulary(),
            (Strings{"_x1", "goodbye", "goodbye world", "hello", "hello hello", "hello world", "world",
                     "\xC3\xA9t\xC3\xA9", "\xC3\xA9t\xC3\xA9 _x1"}));
  // world is in 2 of 3 texts: idf = 1 + log(4/3); the others in 1: 1 + log 2.
  EXPECT_FLOAT_EQ(r.text->idf()[6], 1 + std::log(4.0f / 3));
  EXPECT_FLOAT_EQ(r.text->idf()[0], 1 + std::log(2.0f));
  double rare = 1 + std::log(2.0), common = 1 + std::log(4.0 / 3);
  double norm = std::sqrt(2 * rare * rare + common * common);
  const SparseMatrix& x = r.data.features.sparse;
  ASSERT_EQ(x.begin[2] - x.begin[1], 3u);
  EXPECT_FLOAT_EQ(x.value[x.begin[1]], static_cast<float>(rare / norm));
  EXPECT_FLOAT_EQ(x.value[x.begin[1] + 2], static_cast<float>(common / norm));
  expect_block_invariance("a.txt", kText);
}

TEST(Text, CountsWithoutTfIdf) {
  ReadOptions options;
  options.text.tf_idf = false;
  options.text.ngrams = 1;
  ReadResult r = read_bytes("a.txt", kText, options);
  EXPECT_TRUE(r.text->idf().empty());
  EXPECT_EQ(r.data.features.sparse.value, (std::vector<float>{2, 1, 1, 1, 1, 1}));
}

Strings sorted_grams(const std::string& text, const TextOptions& features) {
  ReadOptions options;
  options.text = features;
  return read_bytes("a.txt", "y\t" + text + "\n", options).text->vocabulary();
}

TEST(Text, CharacterNGramsHaveMarksAndNames) {
  TextOptions options;
  options.ngrams = 1;
  options.char_ngrams_min = 1;
  options.char_ngrams_max = 3;
  EXPECT_EQ(sorted_grams("ab", options), (Strings{"#<a", "#<ab", "#a", "#ab", "#ab>", "#b", "#b>", "ab"}));
  options.char_ngrams_min = options.char_ngrams_max = 3;
  // A word is never a character n-gram, nor the other way round: 'xabc' has "#abc", the word is "abc".
  EXPECT_EQ(sorted_grams("abc xabc", options),
            (Strings{"#<ab", "#<xa", "#abc", "#bc>", "#xab", "abc", "xabc"}));
  EXPECT_EQ(sorted_grams("A", options), (Strings{"#<a>", "a"}));
  options.char_ngrams_max = 12;
  options.char_ngrams_min = 12;
  EXPECT_EQ(sorted_grams("a", options), (Strings{"a"}));
}

// Two bytes for each e acute, four for the musical clef; the bytes of broken UTF-8 are characters too.
TEST(Text, CharactersAreThoseOfUtf8) {
  TextOptions options;
  options.ngrams = 1;
  options.char_ngrams_min = options.char_ngrams_max = 2;
  EXPECT_EQ(sorted_grams("\xC3\xA9t\xC3\xA9", options),
            (Strings{"#<\xC3\xA9", "#t\xC3\xA9", "#\xC3\xA9>", "#\xC3\xA9t", "\xC3\xA9t\xC3\xA9"}));
  EXPECT_EQ(sorted_grams("\xF0\x9D\x84\x9E", options),
            (Strings{"#<\xF0\x9D\x84\x9E", "#\xF0\x9D\x84\x9E>", "\xF0\x9D\x84\x9E"}));
  EXPECT_EQ(sorted_grams("\x9D\x84", options), (Strings{"#<\x9D", "#\x84>", "#\x9D\x84", "\x9D\x84"}));
}

TEST(Text, CharacterNGramsOutOfRangeAreUserErrors) {
  const auto check = [](uint32_t shortest, uint32_t longest) {
    TextOptions options;
    options.char_ngrams_min = shortest;
    options.char_ngrams_max = longest;
    options.validate();
  };
  EXPECT_NO_THROW(check(0, 0));
  EXPECT_NO_THROW(check(1, 12));
  EXPECT_THROW(check(0, 3), Error);
  EXPECT_THROW(check(3, 0), Error);
  EXPECT_THROW(check(4, 3), Error);
  EXPECT_THROW(check(3, 13), Error);
}

TEST(Text, LimitsOfTheVocabulary) {
  ReadOptions options;
  options.text.max_vocabulary = 2;
  EXPECT_EQ(read_bytes("a.txt", kText, options).text->vocabulary(), (Strings{"_x1", "world"}));
  options.text.max_vocabulary = 0;
  options.text.min_count = 2;
  EXPECT_EQ(read_bytes("a.txt", kText, options).text->vocabulary(), (Strings{"world"}));
  options.text.min_count = 4;
  EXPECT_EQ(read_error("a.txt", kText, options),
            "a.txt: no word or n-gram is frequent enough to be a feature; lower the minimum count");
}

// Whatever the options, the encoder rebuilt from its pieces gives the rows of the dataset it was fitted on.
TEST(Text, TheEncoderRepeatsTheRowsItWasFittedOn) {
  for (uint32_t buckets : {0u, 5u, 1000u})
    for (bool tf_idf : {true, false}) {
      ReadOptions options;
      options.text.char_ngrams_min = options.text.char_ngrams_max = tf_idf ? 3 : 0;
      options.text.hash_buckets = buckets;
      options.text.tf_idf = tf_idf;
      ReadResult r = read_bytes("a.txt", kText, options);
      EXPECT_EQ(r.data.features.columns(), r.text->features());
      Schema schema{r.data.labels,
                    r.text->features(),
                    {},
                    TextEncoder(r.text->options(), r.text->vocabulary(), r.text->idf())};
      ReadOptions scoring;
      scoring.schema = &schema;
      expect_equal(read_bytes("a.txt", kText, scoring).data, r.data);
    }
}

TEST(Text, WordsNeverSeenAreIgnored) {
  ReadResult r = read_bytes("a.txt", kText);
  EXPECT_TRUE(r.text->encode("nothing known here").column.empty());
  EXPECT_EQ(r.text->encode("WORLD").column, std::vector<uint32_t>{6});
  EXPECT_FLOAT_EQ(r.text->encode("WORLD").value[0], 1);
}

TEST(Text, HeaderLine) {
  EXPECT_EQ(read_bytes("a.tsv", "Label\tText\nx\tone two\ny\tthree\n").data.labels, (Strings{"x", "y"}));
  ReadOptions options;
  options.header = Header::yes;
  EXPECT_EQ(read_bytes("a.tsv", "intent\tutterance\nx\tone two\n", options).data.labels, (Strings{"x"}));
  EXPECT_EQ(read_error("a.tsv", "label\ttext\nx\tone two\nbad\n"),
            "a.tsv:3: found 'bad', expected label<TAB>text");
}

TEST(Text, Errors) {
  EXPECT_EQ(read_error("a.tsv", "x\tone\nno tab\ny\ttwo\n"),
            "a.tsv:2: found 'no tab', expected label<TAB>text");
  EXPECT_EQ(read_error("a.tsv", "x\tone\n\tno label\ny\ttwo\n"),
            "a.tsv:2: found '\\tno label', expected label<TAB>text");
  ReadResult r = read_bytes("a.txt", kText);
  Schema schema{r.data.labels, r.text->features(), {}, r.text};
  ReadOptions options;
  options.schema = &schema;
  EXPECT_EQ(read_error("a.txt", "other\thi\n", options),
            "a.txt:1: found label 'other', which was not seen in training; expected one of the model's 2 "
            "labels, such as 'bye'");
  options.require_labels = false;
  EXPECT_EQ(read_bytes("a.txt", "hello world\n", options).data.target[0], Dataset::kNoTarget);
  schema.text.reset();
  options.format = Format::text;
  EXPECT_EQ(read_error("a.txt", "bye\thi\n", options),
            "a.txt: found texts, but the model was trained on numbers; expected rows with the columns of its "
            "training data");
}

TEST(Text, EncoderPiecesAreChecked) {
  EXPECT_THROW(TextEncoder({}, {"a", "a"}, {1, 1}), Error);
  EXPECT_THROW(TextEncoder({}, {"a", "b"}, {1}), Error);
  EXPECT_THROW(TextEncoder({}, {"a"}, {NAN}), Error);
  TextOptions hashed;
  hashed.hash_buckets = 2;
  EXPECT_THROW(TextEncoder(hashed, {"a"}, {1, 1}), Error);
  hashed.ngrams = 9;
  EXPECT_THROW(hashed.validate(), Error);
}

RC_GTEST_PROP(Text, RandomBytesNeverCrash, (const std::vector<uint8_t>& raw)) {
  std::string bytes(raw.begin(), raw.end());
  ReadOptions options;
  options.format = Format::text;
  options.require_labels = false;
  read_error("a.txt", bytes, options);
}

}  // namespace
}  // namespace selfnorm
