#include <gtest/gtest.h>

#include <algorithm>

#include "data/sentences/read_sequences.h"
#include "data/sentences/reading.h"

namespace selfnorm {
namespace {

constexpr const char* kThree =
    "1\tde\tde\tADP\tP\t_\t3\tcase\t_\t_\n2\tle\tle\tDET\tD\t_\t3\tdet\t_\t_\n\n"
    "1\t#\t#\tSYM\tS\t_\t0\troot\t_\t_\n";

// The same words give the same attributes in every format.
TEST(EncoderFor, WordsOfOtherFormats) {
  const Reading reading;
  const SequenceRead conllu = reading.learn(kThree), columns = reading.learn("de ADP\nle DET\n\n# SYM\n");
  const auto read = [&](const SequenceEncoder& encoder, SequenceFormat format, std::string_view text) {
    return read_sequences(reading.scratch.file("other", text), encoder_for(encoder, format), false);
  };
  const Sequences words = read(conllu.encoder, SequenceFormat::columns, "de\nle\n\n#\n");
  EXPECT_EQ(words.sentence_begin, conllu.data.sentence_begin);
  EXPECT_EQ(words.unigram.attribute, conllu.data.unigram.attribute);
  EXPECT_EQ(words.label, Numbers(3, kNoLabel));
  const Sequences labelled = read(conllu.encoder, SequenceFormat::columns, "de ADP\nle DET\n\n# SYM\n");
  EXPECT_EQ(labelled.unigram.attribute, conllu.data.unigram.attribute);
  EXPECT_EQ(labelled.label, conllu.data.label);
  const Sequences forms = read(columns.encoder, SequenceFormat::conllu, kThree);
  EXPECT_EQ(forms.unigram.attribute, columns.data.unigram.attribute);
  EXPECT_EQ(forms.label, columns.data.label);
  for (const SequenceFormat same : {SequenceFormat::automatic, SequenceFormat::conllu})
    EXPECT_EQ(read(conllu.encoder, same, kThree).label, conllu.data.label);
}

TEST(EncoderFor, AttributesByTheNamesOfTheTemplates) {
  Reading reading;
  reading.options.templates = "U0:%x[0,0]\nB\n";
  const SequenceRead read = reading.learn("a X\nb Y\n");
  const SequenceEncoder encoder = encoder_for(read.encoder, SequenceFormat::attributes);
  const Sequences data =
      read_sequences(reading.scratch.file("a", "Y\tU0\\:b:2\tother\nX\tU0\\:a\n"), encoder, true);
  EXPECT_EQ(data.label, (Numbers{1, 0}));
  EXPECT_EQ(data.unigram.attribute, (Numbers{1, 0}));
  EXPECT_EQ(data.unigram.value, (std::vector<float>{2, 1}));
  reading.options.templates = "U0:%x[0,0]\nB1:%x[0,0]\n";
  const SequenceEncoder pairs = reading.learn("a X\nb Y\n").encoder;
  EXPECT_NE(reading.message([&] { encoder_for(pairs, SequenceFormat::attributes); })
                .find("has 1 attributes of pairs of labels"),
            std::string::npos);
}

TEST(EncoderFor, SeveralColumns) {
  Reading reading;
  const SequenceEncoder three = reading.learn("a p X\nb q Y\n").encoder;
  EXPECT_NE(reading.message([&] { encoder_for(three, SequenceFormat::conllu); })
                .find("read several of the 3 columns"),
            std::string::npos);
  reading.options.templates = "U0:%x[0,1]\nU1:%x[0,4]\n";
  const SequenceRead ten = reading.learn(kThree);
  EXPECT_EQ(ten.encoder.format, SequenceFormat::conllu);
  // CoNLL-U and columns that are ten can take each other's place, target and all.
  const SequenceEncoder as_columns = encoder_for(ten.encoder, SequenceFormat::columns);
  EXPECT_EQ(as_columns.target, 3u);
  const std::string path = reading.scratch.file("ten", kThree);
  EXPECT_EQ(read_sequences(path, as_columns, true).label, ten.data.label);
  const SequenceEncoder back = encoder_for(as_columns, SequenceFormat::conllu);
  EXPECT_EQ(read_sequences(path, back, true).unigram.attribute, ten.data.unigram.attribute);
  reading.options = {};
  const SequenceEncoder attributes = reading.learn(kAttributes).encoder;
  for (const SequenceFormat format : {SequenceFormat::columns, SequenceFormat::conllu})
    EXPECT_NE(reading.message([&] { encoder_for(attributes, format); }).find("has no templates"),
              std::string::npos);
}

}  // namespace
}  // namespace selfnorm
