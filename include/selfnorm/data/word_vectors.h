// Pretrained embeddings as word2vec, fastText and GloVe write them in text: a line "rows dimension" (or
// none), then a word and its numbers on each line, separated by spaces. A word may hold spaces: the numbers
// are the last fields. The first line of a word counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selfnorm/data/string_index.h"

namespace selfnorm {

struct WordVectors {
  std::vector<float> values;  // one row for each of the words asked for; NaN where the file has none
  uint64_t found = 0;         // of the words asked for
  uint64_t rows = 0;          // of the file
};

// Throws DataError naming the line: vectors of another dimension, numbers missing or not finite, no rows.
WordVectors read_word_vectors(const std::string& path, const StringIndex& words, uint32_t dimension);

}  // namespace selfnorm
