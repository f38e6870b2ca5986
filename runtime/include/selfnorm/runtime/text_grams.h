// Text to columns: words, word n-grams and character n-grams, their counts and weights. The definitions are
// in data/text/text_encoder.h; training and the C interface share this code, so they find the same columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm::runtime {

// Length of the well-formed UTF-8 sequence (RFC 3629) at the start of `text`, which is not empty; 0: none.
inline size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t n = lead >= 0xC2 && lead < 0xE0   ? 2
                   : lead >= 0xE0 && lead < 0xF0 ? 3
                   : lead >= 0xF0 && lead < 0xF5 ? 4
                                                 : 0;
  if (n == 0 || n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_outside = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_outside ? 0 : n;
}

inline bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// `Options` has ngrams, char_ngrams_min, char_ngrams_max and lowercase.

// visit(std::string_view) for each character n-gram of a word, in the order of their first characters,
// shorter first.
template <class Options, class Visit>
void for_each_char_gram(std::string_view word, const Options& options, Visit visit) {
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
template <class Options, class Visit>
void for_each_gram(std::string_view text, const Options& options, Visit visit) {
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

// The distinct ones of `columns`, which is sorted, and how often each is there.
inline void count_columns(std::vector<uint32_t>& columns, std::vector<uint32_t>& distinct,
                          std::vector<float>& count) {
  std::sort(columns.begin(), columns.end());
  for (const uint32_t column : columns) {
    if (distinct.empty() || distinct.back() != column) {
      distinct.push_back(column);
      count.push_back(0);
    }
    count.back() += 1;
  }
}

// value_j <- value_j idf_j / |value idf|_2
inline void weigh(std::span<const uint32_t> column, std::span<float> value, std::span<const float> idf) {
  double square = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    const double x = double{value[i]} * double{idf[column[i]]};
    square += x * x;
  }
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  for (size_t i = 0; i < column.size(); ++i)
    value[i] = static_cast<float>(double{value[i]} * double{idf[column[i]]} * scale);
}

}  // namespace selfnorm::runtime
