#include "data/corpus/token_corpus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <sstream>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

// The corpus back as text.
std::string text_of(const TokenCorpus& corpus, const WordVocabulary& vocabulary) {
  std::string text;
  for (uint64_t i = 0; i < corpus.examples(); ++i) {
    const bool is_end = corpus.target(i) == WordVocabulary::kEnd;
    text += is_end ? "\n" : std::string(vocabulary.word(corpus.target(i))) + " ";
  }
  return text;
}

std::string learning_error(const std::string& path, const CorpusOptions& options) {
  try {
    learn_corpus(path, options, std::filesystem::temp_directory_path());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string folder() { return std::filesystem::temp_directory_path(); }

TEST(TokenCorpus, RareWordsBecomeUnknown) {
  const Scratch scratch;
  const LearnedCorpus learned = learn_corpus(scratch.file("text", "b a b\n\na c <unk>\n"), {}, folder());
  EXPECT_EQ(learned.vocabulary.words(), (std::vector<std::string>{"<unk>", "</s>", "a", "b"}));
  EXPECT_EQ(text_of(learned.train, learned.vocabulary), "b a b \n\na <unk> <unk> \n");
  EXPECT_EQ(learned.train.counts(), (std::vector<uint64_t>{2, 3, 2, 2}));
  EXPECT_EQ(learned.train.examples(), 9u);
  EXPECT_EQ(learned.train.sentences(), 3u);
  EXPECT_EQ(learned.train.unknown(), 2u);
  EXPECT_FALSE(learned.held_out.has_value());
}

TEST(TokenCorpus, ContextStaysInItsSentence) {
  const Scratch scratch;
  const WordVocabulary vocabulary({"<unk>", "</s>", "a", "b", "c"});
  const TokenCorpus corpus = read_corpus(scratch.file("text", "a b c\nc d\n"), vocabulary, folder());
  const uint32_t p = vocabulary.size();
  const std::vector<std::vector<uint32_t>> expected{
      {p, p}, {p, 2}, {2, 3}, {3, 4}, {p, p}, {p, 4}, {4, WordVocabulary::kUnknown}};
  ASSERT_EQ(corpus.examples(), expected.size());
  for (uint64_t i = 0; i < corpus.examples(); ++i) {
    std::vector<uint32_t> context(2);
    corpus.context(i, context);
    EXPECT_EQ(context, expected[i]) << i;
  }
  corpus.context(3, {});
  EXPECT_EQ(corpus.unknown(), 1u);
}

RC_GTEST_PROP(TokenCorpus, AgreesWithSentencesInMemory, (const std::vector<std::vector<uint8_t>>& lines)) {
  std::string text = "a a\n";
  std::vector<std::vector<std::string>> sentences{{"a", "a", "\n"}};
  std::map<std::string, uint64_t> count{{"a", 2}, {"\n", 1}};
  for (const auto& line : lines) {
    sentences.emplace_back();
    for (const uint8_t c : line) sentences.back().push_back(std::string(1, static_cast<char>('a' + c % 16)));
    for (const std::string& word : sentences.back()) text += word + " ";
    text += "\n";
    sentences.back().emplace_back("\n");
    for (const std::string& word : sentences.back()) ++count[word];
  }
  const Scratch scratch;
  const LearnedCorpus learned = learn_corpus(scratch.file("text", text), {}, folder());
  const WordVocabulary& v = learned.vocabulary;
  uint64_t i = 0;
  for (const auto& sentence : sentences)
    for (size_t w = 0; w < sentence.size(); ++w, ++i) {
      const auto number = [&](const std::string& word) {
        return word == "\n"       ? WordVocabulary::kEnd
               : count[word] >= 2 ? v.number(word)
                                  : WordVocabulary::kUnknown;
      };
      RC_ASSERT(learned.train.target(i) == number(sentence[w]));
      std::vector<uint32_t> context(3);
      learned.train.context(i, context);
      for (size_t back = 1; back <= 3; ++back)
        RC_ASSERT(context[3 - back] == (back <= w ? number(sentence[w - back]) : v.size()));
    }
  RC_ASSERT(i == learned.train.examples());
  const TokenCorpus again = read_corpus(scratch.path("text"), v, folder());
  RC_ASSERT(again.fingerprint() == learned.train.fingerprint());
  RC_ASSERT(again.counts() == learned.train.counts());
}

// Every run of 1 / hold_out sentences gives one away; the vocabulary does not know it.
TEST(TokenCorpus, HoldsOutSentences) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a w" + std::to_string(i) + "\n";
  const std::string path = scratch.file("text", text);
  const auto learn = [&](double fraction, uint64_t seed) {
    return learn_corpus(path, {.vocabulary = {.min_count = 1}, .hold_out = fraction, .seed = seed}, folder());
  };
  for (const double fraction : {0.05, 0.3, 0.5}) {
    const LearnedCorpus learned = learn(fraction, 1);
    const auto held_out = static_cast<uint64_t>(1000 * fraction);
    EXPECT_EQ(learned.held_out->sentences(), held_out);
    EXPECT_EQ(learned.train.sentences(), 1000 - held_out);
    EXPECT_EQ(learned.held_out->unknown(), held_out);
    EXPECT_EQ(learned.train.unknown(), 0u);
    EXPECT_EQ(learned.vocabulary.size(), 3 + 1000 - held_out);
  }
  EXPECT_FALSE(learn(1e-300, 1).held_out.has_value());
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(
        learn_corpus(scratch.file("one", "a a"), {.hold_out = 0.5, .seed = seed}, folder()).train.examples(),
        3u);
  EXPECT_EQ(learn(0.05, 1).train.fingerprint(), learn(0.05, 1).train.fingerprint());
  EXPECT_NE(learn(0.05, 1).vocabulary.words(), learn(0.05, 2).vocabulary.words());
}

TEST(TokenCorpus, MoreThanABuffer) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += i % 3 == 0 ? "b\n" : "a ";
  const LearnedCorpus learned = learn_corpus(scratch.file("text", text), {}, folder());
  EXPECT_EQ(learned.train.counts(), (std::vector<uint64_t>{0, 33334, 66666, 33334}));
}

TEST(TokenCorpus, RefusesTextWithoutWords) {
  const Scratch scratch;
  for (const char* text : {"", "\n", " \n \n"})
    EXPECT_EQ(learning_error(scratch.file("text", text), {}),
              scratch.path("text") +
                  ": found no words; expected text, a sentence a line, words separated by white space: write "
                  "it again, or give another file");
  EXPECT_EQ(learning_error(scratch.file("text", "a b c\n"), {}),
            scratch.path("text") + ": no word occurs 2 times or more; lower min-count");
  EXPECT_NE(learning_error(scratch.path("missing"), {}).find("cannot read"), std::string::npos);
  EXPECT_NE(learning_error(scratch.path("."), {}).find("it is a directory"), std::string::npos);
  EXPECT_NE(learning_error(scratch.file("text", "a"), {.hold_out = 0.6}).find("hold-out"), std::string::npos);
  const WordVocabulary vocabulary({"<unk>", "</s>"});
  EXPECT_THROW(read_corpus(scratch.file("text", ""), vocabulary, folder()), DataError);
  EXPECT_THROW(read_corpus(scratch.file("text", "a"), vocabulary, scratch.path("no folder")), Error);
}

TEST(TokenCorpus, OneWordIsAVocabulary) {
  const Scratch scratch;
  const LearnedCorpus learned = learn_corpus(scratch.file("text", "a a a\n"), {}, folder());
  EXPECT_EQ(learned.vocabulary.size(), 3u);
  EXPECT_EQ(learned.train.examples(), 4u);
}

}  // namespace
}  // namespace selfnorm
