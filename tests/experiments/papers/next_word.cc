#include "experiments/papers/next_word.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// "b" and "a" are the most frequent; the third class is every other word.
TEST(NextWord, EncodesTheWordsBefore) {
  const Dataset data = next_word_data("A b, b a; B x y", {.vocabulary = 3, .context = 2});
  EXPECT_EQ(data.labels, (std::vector<std::string>{"b", "a", "<other>"}));
  EXPECT_EQ(data.target, (std::vector<uint32_t>{0, 1, 0, 2, 2}));
  EXPECT_EQ(data.features.columns(), 6u);
  // Word 2 ("b") follows "b" (before it "a"): columns 0 and 3 + 1.
  EXPECT_EQ(data.features.sparse.column, (std::vector<uint32_t>{0, 4, 0, 3, 1, 3, 0, 4, 2, 3}));
  EXPECT_EQ(next_word_data("A b, b a; B x y", {.vocabulary = 3, .context = 2, .examples = 2}).target.size(),
            2u);
}

TEST(NextWord, RefusesTextsThatAreTooShort) {
  EXPECT_THROW(next_word_data("", {.vocabulary = 2}), Error);
  EXPECT_THROW(next_word_data("one two", {.vocabulary = 2, .context = 2}), Error);
  EXPECT_THROW(next_word_data("one two one two", {.vocabulary = 3, .context = 1}), Error);
}

TEST(NextWord, ReadsAFileOrTheLicences) {
  const Scratch folder;
  std::ofstream(folder / "text") << "some words";
  EXPECT_EQ(language_text(folder / "text"), "some words");
  EXPECT_THROW(language_text(folder / "missing"), Error);
  EXPECT_GT(language_text("").size(), 100'000u);
}

}  // namespace
}  // namespace selfnorm
