// The rows a network energy is evaluated on: x_i and, for a conditional one, the context row[i] that the
// first layer starts from, z_1 = W_1 a_0 + c_1 + context_row[i].
#pragma once

#include "data/points/points.h"

namespace selfnorm {

struct MlpRows {
  MlpRows() = default;
  MlpRows(const Points& points) : x(points) {}
  MlpRows(const Points& points, const Points& contexts, const uint32_t* rows)
      : x(points), context(contexts), row(rows) {}

  MlpRows slice(uint64_t begin, uint64_t end) const {
    return {x.slice(begin, end), context, row == nullptr ? nullptr : row + begin};
  }

  Points x, context;
  const uint32_t* row = nullptr;  // does not decrease; null: no contexts
};

// body(begin, end, r) for the rows [begin, end) of every context r that has some.
template <class Body>
void for_contexts(const MlpRows& rows, const Body& body) {
  for (uint64_t begin = 0; begin < rows.x.rows;) {
    uint64_t end = begin + 1;
    while (end < rows.x.rows && rows.row[end] == rows.row[begin]) ++end;
    body(begin, end, rows.row[begin]);
    begin = end;
  }
}

}  // namespace selfnorm
