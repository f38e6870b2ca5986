#include "data/sentences/read_sequences.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/sentences/reading.h"

namespace selfnorm {
namespace {

Strings names(const SequenceRead& read, uint64_t position) {
  Strings out;
  for (const uint32_t a : read.data.unigram.attributes(position)) out.push_back(read.encoder.unigrams[a]);
  std::sort(out.begin(), out.end());
  return out;
}

void expect_rows(const AttributeRows& rows, uint64_t attributes) {
  ASSERT_EQ(rows.begin.back(), rows.attribute.size());
  EXPECT_TRUE(rows.value.empty() || rows.value.size() == rows.attribute.size());
  for (uint64_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.attributes(r);
    for (size_t i = 0; i < row.size(); ++i)
      EXPECT_TRUE(row[i] < attributes && (i == 0 || row[i - 1] < row[i]));
  }
}

void expect_equal(const AttributeRows& a, const AttributeRows& b) {
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.attribute, b.attribute);
  EXPECT_EQ(a.value, b.value);
}

void expect_equal(const Sequences& a, const Sequences& b) {
  EXPECT_EQ(a.sentence_begin, b.sentence_begin);
  EXPECT_EQ(a.label, b.label);
  expect_equal(a.unigram, b.unigram);
  expect_equal(a.bigram, b.bigram);
}

TEST(ReadSequences, Columns) {
  Reading reading;
  reading.options.templates = "U:%x[0,0]\nU:%x[0,0]\nB\n";
  for (const std::string& text : {std::string(kColumns), "\xEF\xBB\xBF"s + kColumns, gzip(kColumns),
                                  "# SYM \r\n1  NUM\r\n\r\nthe DET\r\ndog NOUN"s}) {
    const SequenceRead read = reading.learn(text);
    EXPECT_EQ(read.encoder.format, SequenceFormat::columns);
    EXPECT_EQ(read.encoder.columns, 2u);
    EXPECT_EQ(read.encoder.target, 1u);
    EXPECT_TRUE(read.encoder.has_transitions);
    EXPECT_EQ(read.encoder.labels, (Strings{"SYM", "NUM", "DET", "NOUN"}));
    EXPECT_EQ(read.encoder.unigrams, (Strings{"U:#", "U:1", "U:the", "U:dog"}));
    EXPECT_EQ(read.data.sentence_begin, (std::vector<uint64_t>{0, 2, 4}));
    EXPECT_EQ(read.data.unigram.attribute, (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(read.data.label, (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(read.data.bigram.rows(), 0u);
  }
}

TEST(ReadSequences, TargetColumn) {
  Reading reading;
  reading.options.target = "0";
  const SequenceRead read = reading.learn("A w1 p1\nB w2 p2\n");
  EXPECT_EQ(read.encoder.target, 0u);
  EXPECT_EQ(read.encoder.labels, (Strings{"A", "B"}));
  const Strings at = names(read, 0);
  EXPECT_TRUE(std::find(at.begin(), at.end(), "U02:w1") != at.end());
  // The same words without the labels: the columns after the target move up.
  const std::string bare = reading.scratch.file("bare", "w1 p1\nw2 p2\n");
  const Sequences data = read_sequences(bare, read.encoder, false);
  expect_equal(data.unigram, read.data.unigram);
  EXPECT_EQ(data.label, (Numbers{kNoLabel, kNoLabel}));
}

TEST(ReadSequences, Conllu) {
  Reading reading;
  const SequenceRead read = reading.learn(kConllu);
  EXPECT_EQ(read.encoder.format, SequenceFormat::conllu);
  EXPECT_EQ(read.encoder.columns, 10u);
  EXPECT_EQ(read.encoder.target, 3u);
  EXPECT_EQ(read.encoder.labels, (Strings{"ADP", "DET", "SYM"}));
  EXPECT_EQ(read.data.sentence_begin, (std::vector<uint64_t>{0, 2, 3}));
  EXPECT_EQ(names(read, 1),
            (Strings{"U00:_B-1", "U01:de", "U02:le", "U03:_B+1", "U04:_B+2", "U05:de/le", "U06:le/_B+1",
                     "U07:le", "U08:l", "U09:le", "U12:e", "U13:le", "U16:a", "U17:0", "U18:0", "U19:0"}));
  reading.options.target = "XPOS";
  EXPECT_EQ(reading.learn(kConllu).encoder.labels, (Strings{"P", "D", "S"}));
  // Without a label the column holds _.
  std::string bare = kConllu;
  bare.replace(bare.find("\tADP\t"), 5, "\t_\t");
  const Sequences data = read_sequences(reading.scratch.file("bare", bare), read.encoder, false);
  EXPECT_EQ(data.label, (Numbers{kNoLabel, 1, 2}));
  expect_equal(data.unigram, read.data.unigram);
  EXPECT_EQ(
      reading.read_error(bare, read.encoder, true),
      "d:4: found the label '_' in column 3, which the model has not learned; expected one of its 3 labels: "
      "'ADP', 'DET', 'SYM'; correct it, or train on data that have it");
}

TEST(ReadSequences, TemplatesThatNameNoInput) {
  Reading reading;
  reading.options.templates = "U0:%x[0,0]\n\nU1:%x[0,5]\n";
  reading.options.templates_name = "t";
  EXPECT_EQ(
      reading.error("a p X\nb q Y\n"),
      "t:3: the template names column 5, counted from 0, but d has 3 columns, 0 to 2; expected one of them "
      "that is not the target, 2");
  reading.options.templates = "U0:%x[0,0]\nB1:%p[0,2,1]\n";
  EXPECT_EQ(
      reading.error("a p X\nb q Y\n"),
      "t:2: the template names column 2, counted from 0, which is the target; expected another of the 3 "
      "columns of d");
  reading.options.templates = "X";
  reading.options.templates_name.clear();
  EXPECT_EQ(reading.error("a X\nb Y\n").find("templates:1: found 'X'"), 0u);
  // An encoder that somebody wrote is not trusted either.
  SequenceEncoder encoder = Reading().learn("a X\nb Y\n").encoder;
  encoder.templates = parse_templates("U:%x[0,7]", "t");
  EXPECT_EQ(reading.read_error("a X\n", encoder, true)
                .find("templates of the model:1: the template names column 7"),
            0u);
}

TEST(ReadSequences, CutOff) {
  Reading reading;
  reading.options.templates = "U:%x[0,0]\nB:%x[0,0]\n";
  reading.options.min_count = 2;
  const SequenceRead read = reading.learn("a X\nb Y\na X\nc X\n\nc Y\na X\nb X\n");
  EXPECT_EQ(read.encoder.unigrams, (Strings{"U:a", "U:b", "U:c"}));
  EXPECT_EQ(read.encoder.bigrams, (Strings{"B:b", "B:a"}));
  EXPECT_FALSE(read.encoder.has_transitions);
  EXPECT_EQ(read.data.bigram.begin, (std::vector<uint64_t>{0, 0, 1, 2, 2, 2, 3, 4}));
  EXPECT_EQ(read.data.bigram.attribute, (Numbers{0, 1, 1, 0}));
  reading.options.min_count = 3;
  const SequenceRead fewer = reading.learn("a X\nb Y\na X\nc X\n\nc Y\na X\nb X\n");
  EXPECT_EQ(fewer.encoder.unigrams, (Strings{"U:a"}));
  EXPECT_EQ(fewer.data.unigram.begin, (std::vector<uint64_t>{0, 1, 1, 2, 2, 2, 3, 3}));
  EXPECT_EQ(fewer.data.bigram.rows(), 0u);
  EXPECT_TRUE(fewer.encoder.bigrams.empty());
  // Values of what was left out do not stay.
  reading.options = {SequenceFormat::attributes, "", "", "", 2};
  const SequenceRead valued = reading.learn("X\ta\tb:2\nY\ta\n");
  EXPECT_EQ(valued.encoder.unigrams, (Strings{"a"}));
  EXPECT_TRUE(valued.data.unigram.value.empty());
}

TEST(ReadSequences, UnseenLabelsThatAreKept) {
  const Reading reading;
  const SequenceEncoder encoder = reading.learn("a X\nb Y\n").encoder;
  const auto read = [&](const char* text, bool require) {
    return read_sequences(reading.scratch.file("d", text), encoder, require, UnseenLabel::kept);
  };
  for (const bool require : {true, false}) {
    const Sequences data = read("a X\nb W\n\nb Z\na W\nb Y\n", require);
    EXPECT_EQ(data.label, (Numbers{0, 2, 3, 2, 1}));
    EXPECT_EQ(data.unseen.labels, (Strings{"W", "Z"}));
    EXPECT_EQ(data.unseen.tokens, 3u);
    EXPECT_EQ(data.unseen.line, 2u);
    EXPECT_TRUE(seen_sentences(data, 2).empty());
  }
  EXPECT_EQ(seen_sentences(read("a X\n\nb Z\n\nb Y\n", true), 2), (std::vector<uint64_t>{0, 2}));
  // _ where CoNLL-U has no label is no label.
  std::string bare = kConllu;
  bare.replace(bare.find("\tADP\t"), 5, "\t_\t");
  const SequenceEncoder conllu = reading.learn(kConllu).encoder;
  EXPECT_THROW(read_sequences(reading.scratch.file("bare", bare), conllu, true, UnseenLabel::kept),
               DataError);
}

TEST(ReadSequences, LabelsOfTheModel) {
  const Reading reading;
  const SequenceRead read = reading.learn("a X\nb Y\n");
  EXPECT_EQ(
      reading.read_error("a X\n\nb Z\n", read.encoder, false),
      "d:3: found the label 'Z' in column 1, which the model has not learned; expected one of its 2 labels: "
      "'X', 'Y'; correct it, or train on data that have it");
  EXPECT_EQ(reading.read_error("a\nb\n", read.encoder, true),
            "d:1: found 1 column, expected 2, as in the data of the model; sentences as they are written are "
            "read by 'selfnorm predict'");
  EXPECT_EQ(reading.read_error("a b c d\n", read.encoder, false),
            "d:1: found 4 columns, expected 2, or one less without the labels, as in the data of the model; "
            "sentences as they are written are read by 'selfnorm predict'");
  EXPECT_NE(reading.read_error("a\nb X\n", read.encoder, false).find("d:2: found 2 columns, expected 1"),
            std::string::npos);
  EXPECT_NE(reading.read_error("\n", read.encoder, true).find("d: found no sentence"), std::string::npos);
  EXPECT_EQ(reading.read_error("a X\n", read.encoder, true), "");
}

// The words of the data it was learned from give the data again, whole and one sentence at a time.
TEST(ReadSequences, RoundTripAndStreams) {
  Reading reading;
  std::string columns;
  for (int i = 0; i < 500; ++i)
    columns +=
        fmt::format("w{}\tp{}\t{}\n{}", i * i % 37, i % 5, i % 3 == 0 ? "X" : "Y", i % 7 == 0 ? "\n" : "");
  const std::string bigrams = chunking_templates(Numbers{0, 1}) + "B9:%x[-1,1]/%x[0,1]\n";
  for (const std::string& text : {columns, std::string(kConllu), std::string(kAttributes)})
    for (const uint32_t min_count : {1u, 2u}) {
      reading.options.min_count = min_count;
      reading.options.templates = text == columns ? bigrams : "";
      const SequenceRead read = reading.learn(text);
      expect_rows(read.data.unigram, read.encoder.unigrams.size());
      expect_rows(read.data.bigram, read.encoder.bigrams.size());
      for (const std::string& bytes : {text, gzip(text)}) {
        const std::string path = reading.scratch.file("again", bytes);
        const Sequences whole = read_sequences(path, read.encoder, true);
        expect_equal(whole, read.data);
        SequenceStream stream(path, read.encoder, true);
        Sequences one;
        SentenceText words;
        uint64_t sentence = 0;
        for (; stream.next(one, words); ++sentence) {
          ASSERT_EQ(one.sentences(), 1u);
          ASSERT_EQ(one.length(0), whole.length(sentence));
          ASSERT_EQ(words.tokens.size(), one.length(0));
          for (uint64_t t = 0; t < one.length(0); ++t) {
            const uint64_t at = whole.sentence_begin[sentence] + t;
            EXPECT_EQ(one.label[t], whole.label[at]);
            EXPECT_TRUE(std::ranges::equal(one.unigram.attributes(t), whole.unigram.attributes(at)));
            if (!one.unigram.value.empty()) {
              EXPECT_TRUE(std::ranges::equal(one.unigram.values(t), whole.unigram.values(at)));
            }
            if (whole.bigram.rows() > 0) {
              EXPECT_TRUE(std::ranges::equal(one.bigram.attributes(t), whole.bigram.attributes(at)));
            }
          }
        }
        EXPECT_EQ(sentence, whole.sentences());
        EXPECT_FALSE(stream.next(one, words));
        EXPECT_TRUE(words.tokens.empty());
      }
    }
}

TEST(ReadSequences, StreamsGiveTheOtherLinesOfConllu) {
  const Reading reading;
  const SequenceRead read = reading.learn(kConllu);
  SequenceStream stream(reading.scratch.file("s", kConllu + "\r\n\n# at\xFFthe end\r\n"s), read.encoder,
                        false);
  Sequences sentence;
  SentenceText text;
  const auto others = [&] {
    std::string out;
    for (const auto& [before, line] : text.others) out += fmt::format("{} {}\n", before, line.substr(0, 8));
    return out;
  };
  ASSERT_TRUE(stream.next(sentence, text));
  EXPECT_EQ(others(), "0 # sent_i\n0 # text =\n0 1-2\tdu\t_\n2 2.1\tun\t_\n");
  ASSERT_TRUE(stream.next(sentence, text));
  EXPECT_EQ(others(), "0 # only a\n");
  EXPECT_FALSE(stream.next(sentence, text));
  EXPECT_TRUE(text.tokens.empty());
  ASSERT_EQ(text.others.size(), 1u);
  EXPECT_EQ(text.others[0].text, "# at\xFFthe end");
}

TEST(ReadSequences, StreamsGiveTheText) {
  const Reading reading;
  const SequenceRead read = reading.learn("a X\nb Y\n");
  SequenceStream stream(reading.scratch.file("s", "new\nb\n\n\nc"), read.encoder, false);
  Sequences sentence;
  SentenceText text;
  ASSERT_TRUE(stream.next(sentence, text));
  EXPECT_EQ(text.tokens, (std::vector<Strings>{{"new"}, {"b"}}));
  EXPECT_EQ(sentence.label, (Numbers{kNoLabel, kNoLabel}));
  ASSERT_TRUE(stream.next(sentence, text));
  EXPECT_EQ(text.tokens, (std::vector<Strings>{{"c"}}));
  EXPECT_FALSE(stream.next(sentence, text));
  // Labels that nobody asked for are not looked at.
  SequenceStream unseen(reading.scratch.file("s", "a Z\nb\tX\n"), read.encoder, false);
  ASSERT_TRUE(unseen.next(sentence, text));
  EXPECT_EQ(text.tokens, (std::vector<Strings>{{"a", "Z"}, {"b", "X"}}));
  EXPECT_EQ(sentence.label, (Numbers{kNoLabel, kNoLabel}));
  SequenceStream none(reading.scratch.file("s", ""), read.encoder, false);
  EXPECT_FALSE(none.next(sentence, text));
}

}  // namespace
}  // namespace selfnorm
