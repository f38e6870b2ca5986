#include "data/plausible.h"

#include <gtest/gtest.h>

#include <functional>

#include "scratch.h"

namespace selfnorm {
namespace {

// n rows whose labels are label(0) .. label(classes - 1) in turn.
Dataset labelled(uint64_t n, uint32_t classes, const std::function<std::string(uint32_t)>& label) {
  Dataset data;
  data.features.sparse.begin.assign(n + 1, 0);
  for (uint32_t k = 0; k < classes; ++k) data.labels.push_back(label(k));
  for (uint64_t i = 0; i < n; ++i) data.target.push_back(static_cast<uint32_t>(i % classes));
  return data;
}

std::string half(uint32_t k) { return std::to_string(k) + ".5"; }
std::string whole(uint32_t k) { return std::to_string(k); }
std::string hundreds(uint32_t k) { return std::to_string(100 * k); }
std::string word(uint32_t k) { return "w" + std::to_string(k); }

TEST(Plausible, NumbersToPredictAreNoClasses) {
  EXPECT_NE(classes_doubt(labelled(9000, 862, half), false).find("862 different values"), std::string::npos);
  EXPECT_NE(classes_doubt(labelled(9000, 862, half), false).find("train regressor"), std::string::npos);
  EXPECT_EQ(classes_doubt(labelled(90, 9, half), true), "");  // 0.5, 1.5, ...: marks
  EXPECT_NE(classes_doubt(labelled(9000, 862, hundreds), true), "");
  EXPECT_EQ(classes_doubt(labelled(9000, 862, hundreds), false), "");  // ids of words
  EXPECT_EQ(classes_doubt(labelled(9000, 862, whole), true), "");
  EXPECT_NE(classes_doubt(labelled(1000, 862, whole), false), "");
}

TEST(Plausible, NamesOfRowsAreNoClasses) {
  EXPECT_NE(classes_doubt(labelled(1000, 990, word), false).find("target"), std::string::npos);
  EXPECT_EQ(classes_doubt(labelled(137'000, 3039, word), false), "");
  EXPECT_EQ(classes_doubt(labelled(12, 12, word), false), "");
}

TEST(Plausible, TextsAreNoSentences) {
  Sequences data;
  const auto doubt = [&data](uint64_t sentences, uint64_t tokens, uint64_t labels, uint64_t last = 0) {
    data.sentence_begin = {0};
    for (uint64_t i = 1; i <= sentences; ++i) data.sentence_begin.push_back(tokens * i / sentences);
    return labels_doubt(data, labels, last);
  };
  EXPECT_NE(doubt(1, 10'000, 9'999).find("1 sentence of 10000 tokens"), std::string::npos);
  EXPECT_NE(doubt(1, 10'000, 9'999).find("looks like a file of texts"), std::string::npos);
  EXPECT_NE(doubt(500, 10'000, 9'999), "");
  EXPECT_NE(doubt(1, 10'000, 2'000), "");
  EXPECT_EQ(doubt(1, 10'000, 12), "");
  EXPECT_EQ(doubt(3, 9, 8), "");
  EXPECT_EQ(doubt(9'000, 200'000, 1'500), "");
  EXPECT_NE(doubt(9'000, 200'000, 9'000, 17).find("without target"), std::string::npos);  // words
  EXPECT_NE(doubt(100, 600, 108, 3), "");
  EXPECT_EQ(doubt(9'000, 200'000, 50, 3), "");  // tags beside chunks
}

TEST(Plausible, FilesOfOtherThingsThanText) {
  const Scratch scratch;
  const auto file = [&scratch](const std::string& line, int every = 1 << 20) {
    std::string text;
    for (int i = 1; i <= 40; ++i) text += line + (i % every == 0 ? "\n\n" : "\n");
    return scratch.file("a", text);
  };
  EXPECT_EQ(corpus_doubt(file("the cat sat")), "");
  EXPECT_EQ(corpus_doubt(file("yes, no, maybe")), "");
  EXPECT_NE(corpus_doubt(file("1 2:0.5 7:1")).find("svmlight"), std::string::npos);
  EXPECT_EQ(corpus_doubt(file("yes , no")), "");
  for (const char* row : {"1,2,3", "hello there,greet", "greet;hello, you", "a\t2\t3"})
    EXPECT_NE(corpus_doubt(file(row)).find("a table"), std::string::npos) << row;
  EXPECT_NE(corpus_doubt(file("yes\twell done")).find("label<TAB>text"), std::string::npos);
  EXPECT_NE(corpus_doubt(file("the\tDET", 5)).find("train crf"), std::string::npos);
  EXPECT_NE(corpus_doubt(file("the DET", 5)).find("train crf"), std::string::npos);
  EXPECT_EQ(corpus_doubt(file("two words")), "");
  EXPECT_EQ(corpus_doubt(scratch.path("none")), "");
  EXPECT_NE(sentences_doubt(file("hello there,greet")).find("looks like a table"), std::string::npos);
  EXPECT_EQ(sentences_doubt(file("the;DET", 5)), "");
  EXPECT_EQ(sentences_doubt(file("the\tDET")), "");
  EXPECT_NE(texts_doubt(file("the\tDET", 5)).find("train crf"), std::string::npos);
  EXPECT_EQ(texts_doubt(file("yes\tgood")), "");  // texts of a word, without blank lines
  EXPECT_EQ(texts_doubt(file("yes\twell done", 5)), "");
}

}  // namespace
}  // namespace selfnorm
