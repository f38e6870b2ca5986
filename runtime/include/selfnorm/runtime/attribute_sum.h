// The share of a position's attributes in one cell of a CRF's scores.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace selfnorm::runtime {

// Numbers of attributes, and a value for each; value null: all are 1.
struct AttributeList {
  const uint32_t* number;
  const float* value;
  size_t count;
};

// sum_i value_i M[number_i][at], in double, added in the order of i; M has rows of `width`, and may be null
// where there are no attributes.
template <class Real>
double attribute_sum(const AttributeList& list, const Real* matrix, size_t width, size_t at) {
  double sum = 0;
  for (size_t i = 0; i < list.count; ++i) {
    const double value = list.value == nullptr ? 1 : static_cast<double>(list.value[i]);
    sum += value * static_cast<double>(matrix[list.number[i] * width + at]);
  }
  return sum;
}

}  // namespace selfnorm::runtime
