#include "data/corpus/word_vocabulary.h"

#include <gtest/gtest.h>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(WordVocabulary, UnknownWordsAreUnknown) {
  const WordVocabulary vocabulary({"<unk>", "</s>", "the", "a"});
  EXPECT_EQ(vocabulary.size(), 4u);
  EXPECT_EQ(vocabulary.number("the"), 2u);
  EXPECT_EQ(vocabulary.number("The"), WordVocabulary::kUnknown);
  EXPECT_EQ(vocabulary.number("<unk>"), WordVocabulary::kUnknown);
  EXPECT_EQ(vocabulary.number("</s>"), WordVocabulary::kEnd);
  EXPECT_EQ(vocabulary.word(3), "a");
  EXPECT_EQ(WordVocabulary(vocabulary.words()).words(), vocabulary.words());
}

TEST(WordVocabulary, RefusesOtherLists) {
  using List = std::vector<std::string>;
  EXPECT_THROW(WordVocabulary(List{}), Error);
  EXPECT_THROW(WordVocabulary(List{"</s>", "<unk>"}), Error);
  EXPECT_THROW(WordVocabulary(List{"<unk>", "</s>", "a", "a"}), Error);
}

TEST(WordVocabulary, TheMostFrequentFirst) {
  const StringIndex words({"<unk>", "</s>", "rare", "b", "a", "often"});
  const std::vector<uint64_t> counts{0, 9, 1, 3, 3, 7};
  EXPECT_EQ(frequent_words(words, counts, {.min_count = 1}), (std::vector<uint32_t>{0, 1, 5, 4, 3, 2}));
  EXPECT_EQ(frequent_words(words, counts, {.min_count = 2}), (std::vector<uint32_t>{0, 1, 5, 4, 3}));
  EXPECT_EQ(frequent_words(words, counts, {.max_words = 2}), (std::vector<uint32_t>{0, 1, 5, 4}));
  EXPECT_EQ(frequent_words(words, counts, {.min_count = 8}), (std::vector<uint32_t>{0, 1}));
  EXPECT_THROW(VocabularyOptions{.min_count = 0}.validate(), Error);
  EXPECT_NO_THROW(VocabularyOptions{}.validate());
}

}  // namespace
}  // namespace selfnorm
