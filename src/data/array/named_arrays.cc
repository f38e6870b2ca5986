#include "data/array/named_arrays.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/failure.h"
#include "data/array/matrix.h"
#include "data/dataset.h"
#include "data/input/characters.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kRowsToWiden = 64;

template <class Use>
auto with(const ArrayFile& file, const char* name, Use use) {
  const ArrayEntry* entry = file.find(name);
  if (!entry) throw_at(file.name(), 0, "found no array '{}' of a CSR matrix", name);
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

// scipy.sparse.save_npz: row r has columns indices[indptr[r] .. indptr[r+1]) and `data` there as values.
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

constexpr std::array kLabelNames = {"y", "label", "labels", "target", "targets"};
constexpr std::array kFeatureNames = {"X", "x", "features", "data", "states", "hidden_states", "h", "H"};

const ArrayEntry* first_of(const ArrayFile& file, std::span<const char* const> names) {
  for (const char* name : names)
    if (const ArrayEntry* entry = file.find(name)) return entry;
  return nullptr;
}

}  // namespace

bool is_csr(const ArrayFile& file) {
  return file.find("indptr") && !first_of(file, std::span(kFeatureNames).first(3));
}

bool is_name_of_data(std::string_view name) {
  return std::ranges::find(kFeatureNames, name) != kFeatureNames.end() ||
         std::ranges::find(kLabelNames, name) != kLabelNames.end();
}

const ArrayEntry* choose_labels(const ArrayFile& file) { return first_of(file, kLabelNames); }

const ArrayEntry& choose_features(const ArrayFile& file, const std::string& name) {
  if (!name.empty()) {
    const ArrayEntry* named = file.find(name);
    if (named) return *named;
    throw_at(file.name(), 0, "found no array {}; found {}", quoted_text(name),
             file.format() == ArrayFormat::npy ? "an npy file, which holds one array and no name"
                                               : list_of_names(file.entries()));
  }
  if (file.format() == ArrayFormat::npy) return file.entries().front();
  const ArrayEntry* found = first_of(file, kFeatureNames);
  if (found) return *found;
  size_t candidates = 0;
  for (const ArrayEntry& entry : file.entries()) {
    const bool fits = entry.problem.empty() && entry.type.is_float() && entry.shape.size() >= 2;
    if (!fits || std::ranges::find(kLabelNames, entry.name) != kLabelNames.end()) continue;
    found = &entry;
    ++candidates;
  }
  if (candidates == 1) return *found;
  throw_at(file.name(), 0,
           "found {}; expected an array X, x, features, data, states, hidden_states, h or H, or one array of "
           "floats in two or more dimensions (and y, label, labels, target or targets)",
           list_of_names(file.entries()));
}

ReadResult read_named_arrays(Input& input, Format format, const ReadOptions& options) {
  std::shared_ptr<Storage> storage = input.storage();
  if (!storage && format == Format::npz)
    throw DataError(input.name(), 0,
                    "an npz file cannot be read from a pipe or from within gzip; expected a plain file");
  if (!storage) storage = owned_storage(input.read_rest());
  const ArrayFile file(input.name(), storage);
  Features features =
      is_csr(file) ? csr_features(file) : with_array(file, choose_features(file, {}), dense_features);
  std::optional<std::vector<std::string>> labels;
  if (!options.labels_path.empty()) {
    labels = read_label_file(options.labels_path);
  } else if (const ArrayEntry* inside = choose_labels(file)) {
    labels = with_array(file, *inside, read_labels);
  }
  ReadResult result = labelled_matrix(input, std::move(features), std::move(labels), options);
  result.report.bytes = storage->size();
  return result;
}

template <class Number>
void ArrayRows::check_rows(std::span<const float> values, const Number& number) const {
  const uint64_t rows = values.size() / columns_;
  std::vector<char> is_bad((rows + kRowsToWiden - 1) / kRowsToWiden);
  parallel_ranges(rows, kRowsToWiden, [&](size_t first, size_t last) {
    bool is_good = true;
    for (const float v : values.subspan(first * columns_, (last - first) * columns_))
      is_good &= std::abs(v) <= std::numeric_limits<float>::max();
    is_bad[first / kRowsToWiden] = !is_good;
  });
  const auto found = static_cast<uint64_t>(std::find(is_bad.begin(), is_bad.end(), 1) - is_bad.begin());
  for (uint64_t i = found * kRowsToWiden; i < rows; ++i) {
    const std::string message = value_error(values.subspan(i * columns_, columns_));
    if (!message.empty()) throw_at(view_.place, number(i) + 1, "row {}: {}", number(i) + 1, message);
  }
}

void ArrayRows::block(uint64_t begin, uint64_t end, std::span<float> to) const {
  SELFNORM_CHECK(begin <= end && end <= rows_ && to.size() == (end - begin) * columns_);
  if (view_.fortran_order) {
    std::vector<float> column(end - begin);
    for (uint32_t c = 0; c < columns_; ++c) {
      view_.widen(c * rows_ + begin, column);
      for (uint64_t r = 0; r < column.size(); ++r) to[r * columns_ + c] = column[r];
    }
  } else {
    parallel_ranges(end - begin, kRowsToWiden, [&](size_t first, size_t last) {
      view_.widen((begin + first) * columns_, to.subspan(first * columns_, (last - first) * columns_));
    });
  }
  check_rows(to, [&](uint64_t i) { return begin + i; });
}

void ArrayRows::gather(std::span<const uint64_t> rows, std::span<float> to) const {
  SELFNORM_CHECK(to.size() == rows.size() * columns_);
  for (const uint64_t r : rows) SELFNORM_CHECK(r < rows_);
  parallel_ranges(rows.size(), kRowsToWiden, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      const auto row = to.subspan(r * columns_, columns_);
      if (view_.fortran_order) {
        for (uint32_t c = 0; c < columns_; ++c) view_.widen(c * rows_ + rows[r], row.subspan(c, 1));
      } else {
        view_.widen(rows[r] * columns_, row);
      }
    }
  });
  check_rows(to, [&](uint64_t i) { return rows[i]; });
}

void ArrayRows::release(uint64_t begin, uint64_t end) const {
  if (view_.fortran_order)
    view_.release(0, rows_ * columns_);
  else
    view_.release(begin * columns_, (end - begin) * columns_);
}

}  // namespace selfnorm
