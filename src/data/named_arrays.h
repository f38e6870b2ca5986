// The arrays of a file that make up a dataset: which is which, and their streams.
#pragma once

#include <string>

#include "array.h"
#include "selfnorm/data/array_file.h"

namespace selfnorm {

// SciPy's CSR matrix: indices, indptr, data, shape.
bool is_csr(const ArrayFile& file);

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

}  // namespace selfnorm
