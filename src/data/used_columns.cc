#include "selfnorm/data/used_columns.h"

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kUnusedColumn = 0xFFFFFFFFu;

}  // namespace

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
  uint64_t kept = 0;
  for (uint64_t row = 0, entry = 0; row < x.rows(); ++row) {
    for (const uint64_t end = x.begin[row + 1]; entry < end; ++entry) {
      if (number[x.column[entry]] == kUnusedColumn) continue;
      x.column[kept] = number[x.column[entry]];
      x.value[kept++] = x.value[entry];
    }
    x.begin[row + 1] = kept;
  }
  x.column.resize(kept);
  x.value.resize(kept);
  x.columns = static_cast<uint32_t>(columns.size());
  std::vector<std::string> names;
  for (const uint32_t column : columns)
    if (!data.feature_names.empty()) names.push_back(data.feature_names[column]);
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
