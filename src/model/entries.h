// A row of features as its stored entries, dense or sparse alike.
#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace selfnorm {

// visit(column, value) for every stored entry of a row.
template <class Visit>
void for_each_entry(const Features& x, uint64_t row, const Visit& visit) {
  if (x.is_sparse) {
    for (uint64_t p = x.sparse.begin[row]; p < x.sparse.begin[row + 1]; ++p)
      visit(x.sparse.column[p], x.sparse.value[p]);
  } else {
    const auto values = x.dense.row(row);
    for (uint32_t j = 0; j < values.size(); ++j) visit(j, values[j]);
  }
}

}  // namespace selfnorm
