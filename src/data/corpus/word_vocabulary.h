// The words of a language model, which are its classes: <unk>, then </s>, then the words kept, the most
// frequent first (equal counts bytewise). One more number, size(), stands for what is before a sentence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/string_index.h"

namespace selfnorm {

class OptionTable;

struct VocabularyOptions {
  // Words seen less often become <unk>; >= 1. At 1 only a text that has <unk> teaches how likely it is.
  uint64_t min_count = 2;
  uint32_t max_words = 0;  // keep at most this many, <unk> and </s> not counted; 0: no limit

  void validate() const;  // throws Error naming the option, the value and the range
};
OptionTable vocabulary_option_table(VocabularyOptions& options);

class WordVocabulary {
 public:
  static constexpr uint32_t kUnknown = 0, kEnd = 1;

  // All words in order of their numbers. Throws Error unless they are different and begin <unk>, </s>.
  explicit WordVocabulary(const std::vector<std::string>& words);

  uint32_t size() const { return index_.size(); }
  uint32_t number(std::string_view word) const { return index_.find(word).value_or(kUnknown); }
  std::string_view word(uint32_t number) const { return index_[number]; }
  std::vector<std::string> words() const { return index_.strings(); }

 private:
  StringIndex index_;
};

// The numbers in `words` (whose first two are <unk> and </s>) of the words to keep, in their order.
std::vector<uint32_t> frequent_words(const StringIndex& words, std::span<const uint64_t> counts,
                                     const VocabularyOptions& options);

// Pretrained embeddings as word2vec, fastText and GloVe write them in text: a line "rows dimension" (or
// none), then a word and its numbers on each line, separated by spaces. A word may hold spaces: the numbers
// are the last fields. The first line of a word counts.
struct WordVectors {
  std::vector<float> values;  // one row for each of the words asked for; NaN where the file has none
  uint64_t found = 0;         // of the words asked for
  uint64_t rows = 0;          // of the file
};

// Throws DataError naming the line: vectors of another dimension, numbers missing or not finite, no rows.
WordVectors read_word_vectors(const std::string& path, const StringIndex& words, uint32_t dimension);

}  // namespace selfnorm
