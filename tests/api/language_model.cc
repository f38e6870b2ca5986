#include "selfnorm/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "scratch.h"

namespace selfnorm {
namespace {

std::vector<std::string> sentences(uint64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> who{"the cat", "a dog", "the bird"}, what{"sat", "ran", "slept"},
      where{"on the mat", "to the door", "here"};
  std::vector<std::string> out;
  for (uint64_t i = 0; i < n; ++i)
    out.push_back(who[random() % 3] + " " + what[random() % 3] + " " + where[random() % 3]);
  return out;
}

TEST(ApiLanguageModel, WordsAndPerplexitiesAgree) {
  const std::vector<std::string> train = sentences(400, 1), test = sentences(50, 2);
  const LanguageModel model = LanguageModel::train(
      train,
      {{"order", 3}, {"objective", "exact"}, {"epochs", 4}, {"dimension", 8}, {"hidden", 16}, {"batch", 32}});
  EXPECT_EQ(model.order(), 3u);
  EXPECT_EQ(model.vocabulary()[0], "<unk>");
  const LanguageQuality found = model.evaluate(test);
  double exact = 0, raw = 0;
  uint64_t words = 0;
  for (const std::string& sentence : test) {
    for (const double x : model.log_probabilities(sentence)) exact += x, ++words;
    for (const double x : model.raw_log_probabilities(sentence)) raw += x;
  }
  EXPECT_EQ(found.words, words);
  EXPECT_NEAR(std::log(found.perplexity_exact), -exact / static_cast<double>(words), 1e-5);
  EXPECT_NEAR(std::log(found.perplexity_raw), -raw / static_cast<double>(words), 1e-5);
  EXPECT_LT(found.perplexity_exact, 4);  // of 14 words

  const std::string path = testing::TempDir() + "api_lm.safetensors";
  model.save(path);
  EXPECT_EQ(LanguageModel::load(path).log_probabilities(test[0]), model.log_probabilities(test[0]));
  EXPECT_EQ(model.log_probabilities("").size(), 1u);
  EXPECT_EQ(model.log_probabilities("zebra").size(), 2u);
}

TEST(ApiLanguageModel, StatesCarryASentence) {
  const LanguageModel model = LanguageModel::train(
      sentences(100, 3),
      {{"order", 3}, {"objective", "exact"}, {"epochs", 1}, {"dimension", 4}, {"hidden", 4}});
  SentenceState state = model.begin_sentence();
  const std::vector<double> expected = model.log_probabilities("the cat sat");
  std::vector<double> found;
  for (const char* word : {"the", "cat", "sat", "</s>"}) found.push_back(model.score(state, word, state));
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(model.has_word("cat"));
  EXPECT_FALSE(model.has_word("zebra"));
  EXPECT_NE(model.no_context(), model.begin_sentence());
}

// Whatever the bytes, words are read as training read them.
TEST(ApiLanguageModel, BytesThatAreNoTextAreReadAsInTraining) {
  const std::string sentence = "the caf\xe9 sat";
  const LanguageModel model = LanguageModel::train(std::vector<std::string>(30, sentence),
                                                   {{"objective", "exact"}, {"dimension", 4}, {"hidden", 4}});
  double sum = 0;
  for (const double x : model.log_probabilities(sentence)) sum += x;
  EXPECT_NEAR(std::log(model.evaluate({sentence}).perplexity_exact), -sum / 4, 1e-5);
  EXPECT_THROW(model.log_probabilities("a </s> dog"), Error);
}

// The state before a sentence has a row of embeddings and no word in any file of vectors.
TEST(ApiLanguageModel, StartsFromWordVectors) {
  const Scratch scratch;
  const std::string vectors = scratch.file("a.vec", "cat 1 0 0 0\ndog 0 1 0 0\n");
  const LanguageModel model = LanguageModel::train(
      sentences(20, 1), {{"embeddings", vectors}, {"dimension", 4}, {"hidden", 4}, {"epochs", 1}});
  EXPECT_TRUE(std::isfinite(model.evaluate(sentences(5, 2)).perplexity_exact));
}

TEST(ApiLanguageModel, MistakesSayWhatWasExpected) {
  EXPECT_THROW(LanguageModel::train({}), Error);
  EXPECT_THROW(LanguageModel::train({"one\ntwo"}), Error);
  EXPECT_THROW(LanguageModel::train(sentences(20, 1), {{"order", 1}}), Error);
  EXPECT_THROW(LanguageModel::train(sentences(20, 1), {{"orders", 3}}), Error);
  EXPECT_THROW(LanguageModel::train(sentences(20, 1), {{"embeddings", "none.vec"}}), Error);
  EXPECT_THROW(LanguageModel::load("none"), Error);
}

}  // namespace
}  // namespace selfnorm
