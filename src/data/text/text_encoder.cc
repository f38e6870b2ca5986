#include "data/text/text_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/option_table.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostCharacters = 12;

constexpr uint32_t kUnusedColumn = 0xFFFFFFFFu;

}  // namespace

OptionTable text_option_table(TextOptions& o) {
  OptionTable table;
  table.add("ngrams", &o.ngrams, "text: longest word n-gram").in(1, 8);
  table.add("char-ngrams-min", &o.char_ngrams_min, "text: shortest character n-gram of a word; 0: none")
      .in(0, kMostCharacters);
  table.add("char-ngrams-max", &o.char_ngrams_max, "text: longest character n-gram; 0: none")
      .in(0, kMostCharacters);
  table.add("min-count", &o.min_count, "text: keep n-grams that are in at least N texts").at_least(1);
  table.add("max-vocabulary", &o.max_vocabulary,
            "text: keep at most the N most frequent n-grams; 0 keeps all");
  table.add("hash-buckets", &o.hash_buckets, "text: hash n-grams into N features; 0 keeps a vocabulary");
  table.add("tf-idf", &o.tf_idf, "text: tf-idf").off_text = "text: counts instead of tf-idf";
  table.add("lowercase", &o.lowercase, "text: letters in lower case")
      .off("keep-case", "text: do not lower the case of letters");
  return table;
}

void TextOptions::validate() const {
  TextOptions copy = *this;
  text_option_table(copy).validate();
  const bool has_characters = char_ngrams_min > 0 || char_ngrams_max > 0;
  if (has_characters &&
      (char_ngrams_min < 1 || char_ngrams_min > char_ngrams_max || char_ngrams_max > kMostCharacters))
    throw_error(
        "character n-grams of {} to {} characters: expected 1 <= shortest <= longest <= {}, or 0 and 0 for "
        "none",
        char_ngrams_min, char_ngrams_max, kMostCharacters);
  if (hash_buckets == 0xFFFFFFFFu) throw Error("too many hash buckets: expected at most 2^32 - 2");
  if (hash_buckets > 0 && (max_vocabulary > 0 || min_count > 1))
    throw Error("hash buckets and limits on the vocabulary exclude each other");
}

TextEncoder::TextEncoder(TextOptions options, std::vector<std::string> vocabulary, std::vector<float> idf)
    : options_(options), vocabulary_(std::move(vocabulary)), idf_(std::move(idf)) {
  options_.validate();
  if (options_.hash_buckets > 0 && !vocabulary_.empty())
    throw Error("a text encoder that hashes has no vocabulary");
  for (uint32_t i = 0; i < vocabulary_.size(); ++i)
    if (index_.add(vocabulary_[i]) != i) throw_error("the vocabulary names '{}' twice", vocabulary_[i]);
  if (idf_.size() != (options_.tf_idf ? features() : 0))
    throw_error("a text encoder with {} idf values for {} features", idf_.size(), features());
  for (float value : idf_)
    if (!std::isfinite(value) || value < 0)
      throw Error("an idf value that is not a finite number of at least 0");
}

uint32_t TextEncoder::features() const {
  return options_.hash_buckets > 0 ? options_.hash_buckets : static_cast<uint32_t>(vocabulary_.size());
}

SparseRow TextEncoder::encode(std::string_view text) const {
  std::vector<uint32_t> columns;
  for_each_gram(text, options_, [&](std::string_view gram) {
    auto column = options_.hash_buckets > 0 ? std::optional(hash_bucket(gram, options_)) : index_.find(gram);
    if (column) columns.push_back(*column);
  });
  SparseRow row = count_columns(columns);
  if (options_.tf_idf) weigh(row.column, row.value, idf_);
  return row;
}

SparseRow count_columns(std::vector<uint32_t>& columns) {
  SparseRow row;
  runtime::count_columns(columns, row.column, row.value);
  return row;
}

std::vector<uint32_t> used_columns(const SparseMatrix& x) {
  std::vector<bool> is_used(x.columns);
  for (const uint32_t column : x.column) is_used[column] = true;
  std::vector<uint32_t> out;
  for (uint32_t column = 0; column < x.columns; ++column)
    if (is_used[column]) out.push_back(column);
  return out;
}

void keep_columns(std::span<const uint32_t> columns, Dataset& data) {
  SELFNORM_CHECK(data.features.is_sparse);
  SparseMatrix& x = data.features.sparse;
  std::vector<uint32_t> number(x.columns, kUnusedColumn);
  for (uint32_t j = 0; j < columns.size(); ++j) number[columns[j]] = j;
  auto& begin = x.begin.own();
  auto& column = x.column.own();
  auto& value = x.value.own();
  uint64_t kept = 0;
  for (uint64_t row = 0, entry = 0; row + 1 < begin.size(); ++row) {
    for (const uint64_t end = begin[row + 1]; entry < end; ++entry) {
      if (number[column[entry]] == kUnusedColumn) continue;
      column[kept] = number[column[entry]];
      value[kept++] = value[entry];
    }
    begin[row + 1] = kept;
  }
  column.resize(kept);
  value.resize(kept);
  x.columns = static_cast<uint32_t>(columns.size());
  std::vector<std::string> names;
  for (const uint32_t j : columns)
    if (!data.feature_names.empty()) names.push_back(data.feature_names[j]);
  data.feature_names = std::move(names);
}

TextEncoder with_words(const TextEncoder& encoder, std::span<const uint32_t> columns) {
  std::vector<std::string> words;
  std::vector<float> idf;
  for (const uint32_t column : columns) {
    words.push_back(encoder.vocabulary()[column]);
    if (!encoder.idf().empty()) idf.push_back(encoder.idf()[column]);
  }
  return {encoder.options(), std::move(words), std::move(idf)};
}

}  // namespace selfnorm
