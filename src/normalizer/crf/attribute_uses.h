// Rows of attributes read the other way round: of every attribute, the positions that have it, in order. Each
// gradient row is then a sum that one unit of work owns,
//     G[a] += sum_{t has a} value_a(t) d_t,
// in parallel, without private gradients, in an order that does not depend on the threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/sentences/sequences.h"
#include "model/multiclass.h"

namespace selfnorm {

class AttributeUses {
 public:
  // Of the rows in `range`, whose attributes are below `attributes`.
  AttributeUses(const AttributeRows& rows, Range range, uint64_t attributes);

  // d is (rows in range) x width, gradient attributes x width.
  template <class Real>
  void add_gradient(const std::vector<Real>& d, size_t width, Real* gradient) const;

 private:
  std::vector<uint32_t> attribute_;  // those that occur, in order
  std::vector<uint64_t> begin_;      // of their uses, and the end
  std::vector<uint32_t> row_;        // from the range's first
  std::vector<float> value_;         // empty: all 1
  std::vector<uint64_t> unit_;       // in attribute_: units of work of about the same number of uses
};

}  // namespace selfnorm
