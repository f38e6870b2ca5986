#include "data/corpus/sentence_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

using Token = SentenceReader::Token;

// "a b | |" for a sentence of two words and an empty one.
std::string tokens_of(const std::string& path) {
  SentenceReader reader(path);
  std::string out;
  for (Token token = reader.next(); token != Token::kTextEnd; token = reader.next())
    out += token == Token::kWord ? std::string(reader.word()) + " " : "| ";
  return out;
}

std::string tokens_of(const Scratch& scratch, std::string_view text) {
  return tokens_of(scratch.file("text", text));
}

std::string sentence_error(const Scratch& scratch, std::string_view text) {
  try {
    tokens_of(scratch, text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(SentenceReader, LinesAreSentences) {
  const Scratch scratch;
  EXPECT_EQ(tokens_of(scratch, "a b\n\n c\t d \n"), "a b | | c d | ");
  EXPECT_EQ(tokens_of(scratch, "a\nno line feed at the end"), "a | no line feed at the end | ");
  EXPECT_EQ(tokens_of(scratch, "a\n "), "a | | ");
  EXPECT_EQ(tokens_of(scratch, ""), "");
  EXPECT_EQ(tokens_of(scratch, "\n"), "| ");
  EXPECT_EQ(tokens_of(scratch, "a b\r\nc\r\n"), "a b | c | ");
  EXPECT_EQ(tokens_of(scratch, "\xEF\xBB\xBFmarked <unk> Ab\n"), "marked <unk> Ab | ");
}

TEST(SentenceReader, CompressedText) {
  const Scratch scratch;
  EXPECT_EQ(tokens_of(scratch, gzip("a b\nc\n")), "a b | c | ");
}

TEST(SentenceReader, CountsLines) {
  const Scratch scratch;
  SentenceReader reader(scratch.file("text", "a\n\nb"));
  std::vector<uint64_t> lines;
  while (reader.next() != Token::kTextEnd) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<uint64_t>{1, 1, 2, 3, 3}));
}

TEST(SentenceReader, BytesThatAreNotUtf8AreReplaced) {
  const Scratch scratch;
  EXPECT_EQ(tokens_of(scratch, "na\xEFve \xC3\xA9t\xC3\xA9\n"), "na\xEF\xBF\xBDve \xC3\xA9t\xC3\xA9 | ");
  EXPECT_EQ(tokens_of(scratch, "\xC3\n"), "\xEF\xBF\xBD | ");
  // A surrogate, an overlong form and a code point that is too large: no byte belongs to anything.
  for (const char* bytes : {"\xED\xA0\x80", "\xE0\x80\xAF"})
    EXPECT_EQ(tokens_of(scratch, bytes), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD | ");
  EXPECT_EQ(tokens_of(scratch, "\xF4\x90\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD | ");
}

// Words and lines of any length pass through a buffer of fixed size.
TEST(SentenceReader, LongLinesAndWords) {
  const Scratch scratch;
  std::string line;
  for (int i = 0; i < 1'000'000; ++i) line += "word ";
  EXPECT_EQ(tokens_of(scratch, line + "\n"), line + "| ");
  const std::string longest(kLongestWord, 'x');
  for (const size_t before : {size_t{0}, size_t{200'000}, (size_t{1} << 18) - 1}) {
    const std::string space(before, ' ');
    EXPECT_EQ(tokens_of(scratch, space + longest + " b\n"), longest + " b | ");
    EXPECT_EQ(tokens_of(scratch, space + longest + "x b\n"), "<unk> b | ");
    EXPECT_EQ(tokens_of(scratch, space + std::string(5 << 20, 'y') + "\nb"), "<unk> | b | ");
  }
}

TEST(SentenceReader, RefusesWhatIsNoSentence) {
  const Scratch scratch;
  using std::string_literals::operator""s;
  EXPECT_EQ(sentence_error(scratch, "a\nb\0c\n"s),
            scratch.path("text") + ":2: found a NUL byte, expected text in UTF-8, a sentence a line");
  EXPECT_NE(sentence_error(scratch, std::string(1 << 20, 'x') + "\0"s).find(":1: found a NUL byte"),
            std::string::npos);
  EXPECT_NE(sentence_error(scratch, "a\n\na </s> b\n").find(":3: found the word </s>"), std::string::npos);
  EXPECT_NE(sentence_error(scratch, "<s> a\n").find(":1: found the word <s>"), std::string::npos);
  EXPECT_THROW(SentenceReader(scratch.path("missing")), Error);
  EXPECT_THROW(SentenceReader(scratch.path(".")), Error);
}

RC_GTEST_PROP(SentenceReader, AgreesWithStreams, (const std::vector<std::vector<uint8_t>>& lines)) {
  std::string text, expected;
  for (const auto& line : lines) {
    std::string one;
    for (const uint8_t c : line) one += "ab \t\rc"[c % 6];
    text += one + "\n";
    std::istringstream words(one);
    for (std::string word; words >> word;) expected += word + " ";
    expected += "| ";
  }
  const Scratch scratch;
  RC_ASSERT(tokens_of(scratch, text) == expected);
}

}  // namespace
}  // namespace selfnorm
