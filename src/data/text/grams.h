// Words, n-grams and their weights; the definitions are in text_encoder.h.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/input/characters.h"
#include "data/text/text_encoder.h"

namespace selfnorm {

inline bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// visit(std::string_view) for each character n-gram of a word, by their first characters, shorter first.
template <class Visit>
void for_each_char_gram(std::string_view word, const TextOptions& options, Visit visit) {
  if (options.char_ngrams_max == 0) return;
  std::string marked = "<";
  marked.append(word) += '>';
  std::vector<size_t> begin;  // of every character, then the end
  for (size_t i = 0; i < marked.size();
       i += std::max<size_t>(1, utf8_length(std::string_view(marked).substr(i))))
    begin.push_back(i);
  begin.push_back(marked.size());
  const size_t characters = begin.size() - 1;
  std::string gram;
  for (size_t first = 0; first < characters; ++first) {
    for (size_t n = options.char_ngrams_min; n <= options.char_ngrams_max && first + n <= characters; ++n) {
      if (n == 1 && (first == 0 || first + 1 == characters)) continue;
      gram.assign(1, '#').append(marked, begin[first], begin[first + n] - begin[first]);
      visit(std::string_view(gram));
    }
  }
}

// visit(std::string_view) for each n-gram, n = 1 .. ngrams, in the order of their last words, shorter first;
// after those of a word its character n-grams.
template <class Visit>
void for_each_gram(std::string_view text, const TextOptions& options, Visit visit) {
  std::string words;          // joined by single spaces
  std::vector<size_t> begin;  // of each word in `words`
  for (size_t i = 0; i < text.size();) {
    if (!is_word_byte(text[i])) {
      ++i;
      continue;
    }
    if (!words.empty()) words += ' ';
    begin.push_back(words.size());
    for (; i < text.size() && is_word_byte(text[i]); ++i) {
      bool upper = options.lowercase && text[i] >= 'A' && text[i] <= 'Z';
      words += upper ? static_cast<char>(text[i] + ('a' - 'A')) : text[i];
    }
    for (size_t n = 1; n <= options.ngrams && n <= begin.size(); ++n)
      visit(std::string_view(words).substr(begin[begin.size() - n]));
    for_each_char_gram(std::string_view(words).substr(begin.back()), options, visit);
  }
}

inline uint32_t hash_bucket(std::string_view gram, const TextOptions& options) {
  return static_cast<uint32_t>(hash_bytes(gram) % options.hash_buckets);
}

// Sorted distinct columns with their counts; sorts its argument.
SparseRow count_columns(std::vector<uint32_t>& columns);

// value_j <- value_j idf_j / |value idf|_2
void weigh(std::span<const uint32_t> column, std::span<float> value, std::span<const float> idf);

}  // namespace selfnorm
