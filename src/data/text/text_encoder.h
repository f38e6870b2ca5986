// Text to features: bags of words, word n-grams and character n-grams.
//
// A word is a maximal run of ASCII letters, digits, '_' and bytes >= 0x80 (so UTF-8 words stay whole, and
// invalid UTF-8 is just bytes); an n-gram is n successive words joined by single spaces. With `lowercase`,
// A-Z become a-z. A character n-gram is n successive characters of <word>, the word between boundary marks,
// but never a mark alone; characters are those of UTF-8, and a byte that belongs to none counts as one. Its
// name is '#' and the characters, which no word contains, so that it is never taken for a word.
//   count_j = occurrences of n-gram j in the text
//   idf_j   = 1 + log((1 + n) / (1 + df_j)),  n training texts, df_j of them containing j
//   x_j     = count_j                         without tf_idf
//   x_j     = count_j idf_j / |(count idf)|_2 with tf_idf
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/string_index.h"
#include "selfnorm/runtime/text_grams.h"

namespace selfnorm {

class OptionTable;

struct TextOptions {
  uint32_t ngrams = 2;  // longest n-gram, 1 .. 8
  // shortest and longest character n-gram, 1 <= min <= max <= 12; both 0: none
  uint32_t char_ngrams_min = 0;
  uint32_t char_ngrams_max = 0;
  uint64_t min_count = 1;       // keep n-grams in at least this many texts; >= 1; vocabulary only
  uint32_t max_vocabulary = 0;  // keep at most this many, the most frequent first; 0: all
  uint32_t hash_buckets = 0;    // feature = hash_bytes(n-gram) mod hash_buckets; 0: a vocabulary instead
  bool tf_idf = true;
  bool lowercase = true;

  void validate() const;  // throws Error
};
OptionTable text_option_table(TextOptions& options);

struct SparseRow {
  std::vector<uint32_t> column;  // strictly increasing
  std::vector<float> value;
};

// A value: options, vocabulary (empty with hashing) and idf (one per feature; empty without tf_idf) say all
// about it, and a model file stores the three.
class TextEncoder {
 public:
  TextEncoder(TextOptions options, std::vector<std::string> vocabulary, std::vector<float> idf);

  SparseRow encode(std::string_view text) const;  // n-grams outside the vocabulary are ignored
  uint32_t features() const;
  const TextOptions& options() const { return options_; }
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  const std::vector<float>& idf() const { return idf_; }

 private:
  TextOptions options_;
  std::vector<std::string> vocabulary_;
  std::vector<float> idf_;
  StringIndex index_;
};

// Columns that training can teach something: those that a row of the training data uses. When rows are held
// out of a text after its vocabulary was made, words of theirs alone are not among them; a model must not
// count them as known, since a new text's unknown words are not there either. Rising.
std::vector<uint32_t> used_columns(const SparseMatrix& x);

// Renumbers these columns (rising) 0, 1, ...; the others' entries and names are removed.
void keep_columns(std::span<const uint32_t> columns, Dataset& data);

// The encoder with these words of its vocabulary alone.
TextEncoder with_words(const TextEncoder& encoder, std::span<const uint32_t> columns);

// N-grams as the runtime makes them too.
using runtime::for_each_gram;
using runtime::weigh;

inline uint32_t hash_bucket(std::string_view gram, const TextOptions& options) {
  return static_cast<uint32_t>(hash_bytes(gram) % options.hash_buckets);
}

// Sorted distinct columns with their counts; sorts its argument.
SparseRow count_columns(std::vector<uint32_t>& columns);

}  // namespace selfnorm
