#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/sentences/reading.h"

namespace selfnorm {
namespace {

// Tokens are remembered up to a number; what was forgotten is numbered as before.
TEST(TemplateExpansion, ForgetsTokensAndNotAttributes) {
  Reading reading;
  reading.options.templates = "U:%x[0,0]\nU-%s[0,0,1]\n";
  const std::string known = "first A\nsecond B\n\n";
  const SequenceRead read = reading.learn(known);
  std::string text = known;
  for (int i = 0; i < 1'100'000; ++i) text += fmt::format("{:x}w A\n{}", i, i % 1000 == 0 ? "\n" : "");
  const Sequences data =
      read_sequences(reading.scratch.file("many", text + "\n" + known), read.encoder, true);
  const uint64_t last = data.positions() - 2;
  for (const uint64_t t : {uint64_t{0}, uint64_t{1}}) {
    const auto before = data.unigram.attributes(t), after = data.unigram.attributes(last + t);
    EXPECT_EQ(before.size(), 2u);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end()));
  }
}

}  // namespace
}  // namespace selfnorm
