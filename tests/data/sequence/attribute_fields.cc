#include <gtest/gtest.h>

#include "reading.h"

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
  EXPECT_EQ(reading.error("A\ta:3e38\ta:3e38\n"),
            "d:1: the values of the attribute 'a' add up to more than float32 holds");
  EXPECT_EQ(reading.error("\ta\n"), "d:1: found an empty label in column 1, expected one for every token");
  reading.options.target = 2;
  EXPECT_EQ(
      reading.error("A\ta\n"),
      "d:1: found an attribute file, whose labels are column 1, but the target is column 2; leave the target "
      "out, or say --format columns");
  reading.options = {SequenceFormat::attributes, 0, "U", "t", 1};
  EXPECT_EQ(reading.error("A\ta\n"),
            "d:1: found an attribute file, to which templates do not apply; leave the templates out, or say "
            "--format columns");
}

}  // namespace
}  // namespace selfnorm
