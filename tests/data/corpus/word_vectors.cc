#include <gtest/gtest.h>

#include <cmath>

#include "data/corpus/word_vocabulary.h"
#include "data/reader_checks.h"

namespace selfnorm {
namespace {

const StringIndex kWords({"<unk>", "the", "new york", "absent"});

std::string vectors_error(const Scratch& scratch, std::string_view text, uint32_t dimension = 2) {
  try {
    read_word_vectors(scratch.file("a.vec", text), kWords, dimension);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// What word2vec, fastText (a space at the end of each line) and GloVe (no header, words of words) write.
TEST(WordVectors, ReadsEveryDialect) {
  const Scratch scratch;
  for (const std::string text :
       {"3 2\nthe 1 -2\nnew york 0.5 1e-1\nother 7 8\n", "3 2\nthe 1 -2 \nnew york 0.5 0.1 \nother 7 8 \n",
        "the 1 -2\r\nnew york 0.5 0.1\r\nother 7 8\nthe 9 9"}) {
    for (const std::string& bytes : {text, gzip(text)}) {
      const WordVectors vectors = read_word_vectors(scratch.file("a.vec", bytes), kWords, 2);
      EXPECT_EQ(vectors.found, 2u);
      EXPECT_GE(vectors.rows, 3u);
      ASSERT_EQ(vectors.values.size(), 8u);
      EXPECT_EQ(std::vector<float>(vectors.values.begin() + 2, vectors.values.begin() + 6),
                (std::vector<float>{1, -2, 0.5f, 0.1f}));
      for (const size_t i : {0, 1, 6, 7}) EXPECT_TRUE(std::isnan(vectors.values[i]));
    }
  }
}

TEST(WordVectors, SaysWhatIsWrong) {
  const Scratch scratch;
  const std::string file = scratch.path("a.vec");
  EXPECT_EQ(vectors_error(scratch, "3 300\nthe 1\n"),
            file + ":1: found vectors of 300 numbers, expected 2; give dimension 300");
  EXPECT_EQ(vectors_error(scratch, "the 1 2 3\n"),
            file + ":1: found vectors of 3 numbers, expected 2; give dimension 3");
  EXPECT_EQ(vectors_error(scratch, "2 2\nother 1 2\nthe 1\n"),
            file + ":3: found 2 fields, expected a word and 2 numbers");
  EXPECT_EQ(vectors_error(scratch, "the 1 x\n"),
            file + ":1: in the vector of 'the': found 'x', expected a finite number");
  EXPECT_NE(vectors_error(scratch, "the nan 1\n").find(":1: in the vector of 'the': found 'nan'"),
            std::string::npos);
  EXPECT_NE(vectors_error(scratch, "").find("found no vectors"), std::string::npos);
  EXPECT_NE(vectors_error(scratch, "0 2\n\n").find("found no vectors"), std::string::npos);
  EXPECT_THROW(read_word_vectors(scratch.path("missing"), kWords, 2), Error);
}

}  // namespace
}  // namespace selfnorm
