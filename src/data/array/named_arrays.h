// The arrays of a file that make up a dataset: which is which, and their streams.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "data/array/array.h"
#include "data/array/array_file.h"

namespace selfnorm {

// SciPy's CSR matrix: indices, indptr, data, shape.
bool is_csr(const ArrayFile& file);

// A name that features, states or labels go by: X, states, y, ...
bool is_name_of_data(std::string_view name);

// The array called `name`; without a name: of a npy file its array, else X, x, features, data, states,
// hidden_states, h or H, else the only array of floats that has two or more dimensions and is no label's.
// Throws DataError saying what the file holds.
const ArrayEntry& choose_features(const ArrayFile& file, const std::string& name);

// y, label, labels, target or targets; null when there is none.
const ArrayEntry* choose_labels(const ArrayFile& file);

// use(Array) while its elements stream.
template <class Use>
auto with_array(const ArrayFile& file, const ArrayEntry& entry, Use use) {
  auto source = file.source(entry);
  return use(Array{entry.place, entry.type, entry.descr, entry.shape, entry.fortran_order, source.get()});
}

// The rows of an array of numbers, looked at in place.
class ArrayRows {
 public:
  ArrayRows(ArrayView view, uint64_t rows, uint32_t columns)
      : view_(std::move(view)), rows_(rows), columns_(columns) {}

  uint64_t rows() const { return rows_; }
  uint32_t columns() const { return columns_; }

  // Row-major; rows begin .. end-1, or those listed in that order. Throw DataError naming the file and the
  // row for a value that is not finite.
  void block(uint64_t begin, uint64_t end, std::span<float> to) const;
  void gather(std::span<const uint64_t> rows, std::span<float> to) const;

  // Rows begin .. end-1 are not needed for now.
  void release(uint64_t begin, uint64_t end) const;

 private:
  // number(i): of the i-th row of `values` in the file.
  template <class Number>
  void check_rows(std::span<const float> values, const Number& number) const;

  ArrayView view_;
  uint64_t rows_;
  uint32_t columns_;
};

}  // namespace selfnorm
