#include "csr.h"

#include <fmt/format.h>

#include <algorithm>

#include "named_arrays.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

template <class Use>
auto with(const ArrayFile& file, const char* name, Use use) {
  const ArrayEntry* entry = file.find(name);
  if (!entry) throw DataError(file.name(), 0, fmt::format("found no array '{}' of a CSR matrix", name));
  return with_array(file, *entry, use);
}

// Sorts the columns of a row. False when one is outside the matrix or there twice.
bool order_row(std::span<const int64_t> indices, std::span<const float> data, uint64_t columns,
               SparseMatrix& out) {
  std::vector<std::pair<int64_t, float>> row;
  for (size_t i = 0; i < indices.size(); ++i) row.emplace_back(indices[i], data[i]);
  auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(row.begin(), row.end(), by_column);
  for (size_t i = 0; i < row.size(); ++i) {
    auto [column, value] = row[i];
    if (column < 0 || static_cast<uint64_t>(column) >= columns || (i > 0 && row[i - 1].first == column))
      return false;
    out.column.push_back(static_cast<uint32_t>(column));
    out.value.push_back(value);
  }
  out.begin.push_back(out.column.size());
  return true;
}

}  // namespace

Features csr_features(const ArrayFile& file) {
  auto fail = [&](const std::string& what, uint64_t row = 0) { throw DataError(file.name(), row, what); };
  if (file.find("format")) {
    auto format = with(file, "format", read_labels);
    if (format.size() != 1 || format[0] != "csr")
      fail("found a sparse matrix that is not CSR; convert it with .tocsr()");
  }
  auto shape = with(file, "shape", read_integers);
  auto indptr = with(file, "indptr", read_integers);
  auto indices = with(file, "indices", read_integers);
  auto data = with(file, "data", read_floats);
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > int64_t{0xFFFFFFFE})
    fail("found an impossible shape of a CSR matrix");
  if (indptr.size() - 1 != static_cast<uint64_t>(shape[0]) || indices.size() != data.size() ||
      indptr.front() != 0 || static_cast<uint64_t>(indptr.back()) != data.size() ||
      !std::is_sorted(indptr.begin(), indptr.end()))
    fail("the arrays of the CSR matrix do not fit together");
  Features features;
  features.sparse.columns = static_cast<uint32_t>(shape[1]);
  for (size_t r = 0; r + 1 < indptr.size(); ++r) {
    auto begin = static_cast<size_t>(indptr[r]), size = static_cast<size_t>(indptr[r + 1]) - begin;
    if (!order_row({indices.data() + begin, size}, {data.data() + begin, size}, features.sparse.columns,
                   features.sparse))
      fail(
          fmt::format("row {}: found a column twice or beyond the {} columns of the matrix", r + 1, shape[1]),
          r + 1);
  }
  return features;
}

}  // namespace selfnorm
