// The gradient of some rows, with the matrices transposed and in whole panels, as the products write them.
#pragma once

#include <span>
#include <vector>

#include "mlp_shape.h"
#include "selfnorm/math/panel_product.h"

namespace selfnorm {

class MlpGradient {
 public:
  explicit MlpGradient(const MlpShape& shape);

  void clear();
  float* weight(size_t l) { return values_.data() + place_[l]; }  // in x out, rows panel_stride(out) apart
  float* bias(size_t l) { return values_.data() + bias_[l]; }
  float* frequencies() { return values_.data(); }  // d x F, rows panel_stride(F) apart
  float* output() { return values_.data() + output_; }
  // Of rows with contexts (mlp_rows.h), rows x width(1): D_1 is summed here by context and not in bias(0).
  float* context = nullptr;
  // bias(0) += the sums of the contexts [begin, end).
  void add_contexts_to_bias(const MlpShape& shape, size_t begin, size_t end);

  // total += the sum of the parts, added in order; the first part becomes that sum.
  static void add(const MlpShape& shape, std::span<MlpGradient> parts, std::span<float> total);

 private:
  std::vector<size_t> place_, bias_;
  size_t output_ = 0;
  AlignedFloats values_;
};

}  // namespace selfnorm
