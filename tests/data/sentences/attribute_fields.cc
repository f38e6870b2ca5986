#include <gtest/gtest.h>

#include "data/sentences/reading.h"

namespace selfnorm {
namespace {

TEST(AttributeFields, Attributes) {
  const Reading reading;
  const SequenceRead read = reading.learn(kAttributes);
  EXPECT_EQ(read.encoder.format, SequenceFormat::attributes);
  EXPECT_EQ(read.encoder.columns, 0u);
  EXPECT_TRUE(read.encoder.has_transitions);
  EXPECT_EQ(read.encoder.unigrams, (Strings{"w=a", "n", "w:b", "x\\y", "z"}));
  EXPECT_EQ(read.data.unigram.attribute, (Numbers{0, 1, 2, 0, 3, 4}));
  EXPECT_EQ(read.data.unigram.value, (std::vector<float>{2, 2.5f, 0.5f, 1, 1, 1}));
  EXPECT_EQ(read.data.unigram.begin, (std::vector<uint64_t>{0, 2, 3, 6}));
  EXPECT_EQ(read.data.label, (Numbers{0, 1, 0}));
  EXPECT_TRUE(reading.learn("A\tw=a\nB\tw=b\tx=c\n").data.unigram.value.empty());
  // No label, an unknown attribute, no attribute at all.
  const std::string bare = reading.scratch.file("bare", "\tw=a\tnew\nB\n");
  const Sequences data = read_sequences(bare, read.encoder, false);
  EXPECT_EQ(data.label, (Numbers{kNoLabel, 1}));
  EXPECT_EQ(data.unigram.begin, (std::vector<uint64_t>{0, 1, 1}));
}

TEST(AttributeFields, BadAttributes) {
  Reading reading;
  reading.options.format = SequenceFormat::attributes;
  EXPECT_EQ(
      reading.error("A\ta\nB\ta:x\n"),
      "d:2: found 'x', expected a finite number as the value of 'a'; a colon within a name is written \\:");
  EXPECT_NE(reading.error("A\ta:\n").find("d:1: found an empty value"), std::string::npos);
  EXPECT_NE(reading.error("A\ta:inf\n").find("d:1: found 'inf'"), std::string::npos);
  EXPECT_NE(reading.error("A\ta:1:2\n").find("d:1: found '1:2'"), std::string::npos);
  EXPECT_EQ(reading.error("A\t:2\n"), "d:1: found the attribute ':2', expected a name before its value");
  EXPECT_EQ(reading.error("A\ta:3e38\n"),
            "d:1: found the value 3e+38 of the attribute 'a', repeated ones added, expected at most 1e+15 in "
            "size; scale it down");
  EXPECT_EQ(reading.error("A\tb\ta:3e38\ta:3e38\n").find("d:1: found the value inf of the attribute 'a'"),
            0u);
  EXPECT_EQ(reading.error("A\ta\nA\ta:-6e14\ta:-6e14\n").find("d:2: found the value -1.2e+15"), 0u);
  EXPECT_EQ(reading.error("A\ta:1e15\nB\ta:-1e15\n"), "");
  EXPECT_EQ(reading.error("A b\n"),
            "d:1: found 'A b' and no tab, expected label TAB attribute TAB attribute ...");
  EXPECT_EQ(
      reading.error("\ta\n"),
      "d:1: found an empty label in column 0 (from 0), expected one for every token; add it, or take the "
      "sentence out");
  reading.options.target = "1";
  EXPECT_EQ(
      reading.error("A\ta\n"),
      "d:1: found an attribute file, whose labels are column 0, but the target is column 1; leave the target "
      "out, or say format columns");
  reading.options = {SequenceFormat::attributes, "", "U", "t", 1};
  EXPECT_EQ(reading.error("A\ta\n"),
            "d:1: found an attribute file, to which templates do not apply; leave the templates out, or say "
            "format columns");
}

// Labels that nobody looks at are no attributes all the same.
TEST(AttributeFields, AttributesWhereTheLabelStands) {
  const Reading reading;
  const SequenceEncoder encoder = reading.learn("A\tw=a\tn:2\nB\tw=b\tw=c\tA\n").encoder;
  const auto error = [&](const std::string& text) {
    return reading.message([&] {
      SequenceStream stream(reading.scratch.file("d", text), encoder, false);
      Sequences sentence;
      for (SentenceText words; stream.next(sentence, words);) continue;
    });
  };
  EXPECT_EQ(error("\tw=a\nw=b\tw=c\n"),
            "d:2: found 'w=b' where the label stands, which is an attribute of the model; expected label TAB "
            "attribute TAB ...; a line without a label begins with a tab");
  EXPECT_EQ(error("n:3\tw=c\n").find("d:1: found 'n:3' where the label stands"), 0u);
  EXPECT_EQ(error("\tw=a\n\nw=new\n"),
            "d:3: found 'w=new' where the label stands, which is no label of the model and all of the line; "
            "expected label TAB attribute TAB ...; a line without a label begins with a tab");
  EXPECT_EQ(error("w=a w=b\n").find("d:1: found 'w=a w=b' and no tab"), 0u);
  EXPECT_EQ(error("\tw=a\n?\tw=b\nB\nA\tA\n_\tn:1\n"), "");
}

}  // namespace
}  // namespace selfnorm
