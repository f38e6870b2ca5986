// A row of features as the runtime takes it.
#pragma once

#include "data/dataset.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {

inline runtime::Query query_of(const Features& x, uint64_t row) {
  static constexpr uint32_t kNone = 0;
  if (!x.is_sparse) return {x.dense.row(row)};
  const uint64_t begin = x.sparse.begin[row], n = x.sparse.begin[row + 1] - begin;
  return {{x.sparse.value.data() + begin, n}, n == 0 ? &kNone : x.sparse.column.data() + begin};
}

}  // namespace selfnorm
