// A network energy on a tile of rows. With delta_l = ds/da_l and D_l = delta_l f'(z_l):
//     dW_l += D_l^T a_{l-1},   dc_l += D_l,   delta_{l-1} = D_l W_l (+ delta_l, residual),
//     phases p = Bx:  g = -sin p delta_cos + cos p delta_sin,   dB += g^T x,   dx = D_1 W_1 + g B.
#pragma once

#include <span>
#include <vector>

#include "math/panel_product.h"
#include "model/energy/mlp_rows.h"
#include "model/energy/mlp_shape.h"
#include "model/energy/mlp_weights.h"

namespace selfnorm {

inline constexpr size_t kTileRows = 64;

// The gradient of some rows, with the matrices transposed and in whole panels, as the products write them.
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

class MlpTile {
 public:
  explicit MlpTile(const MlpShape& shape);

  // s(x_i) for at most kTileRows rows; keeps what back propagation needs if `keeps_slopes`, except the
  // numbers of the contexts, which have to live until then.
  void forward(const MlpWeights& weights, const MlpRows& rows, bool keeps_slopes, double* s);

  // What is only needed on the way back, by one tile after the other.
  struct Deltas {
    explicit Deltas(const MlpShape& shape);
    AlignedFloats delta, local, input;
  };
  // gradient += sum_i d_i ds(x_i)/dtheta.
  void backward(const MlpWeights& weights, std::span<const double> d, Deltas& deltas,
                MlpGradient& gradient) const;
  // dx_i <- ds/dx_i, row-major.
  void input_gradient(const MlpWeights& weights, Deltas& deltas, float* dx) const;

 private:
  const float* value(size_t l) const { return memory_.data() + value_[l]; }
  // D_1 in deltas.local.
  void propagate(const MlpWeights& weights, std::span<const double> d, Deltas& deltas,
                 MlpGradient* gradient) const;
  // D_1 = delta f'(z_1), summed by context or altogether.
  void first_local(const RowBlock& block, Deltas& deltas, MlpGradient* gradient) const;
  // g in deltas.local.
  void phase_gradient(const MlpWeights& weights, Deltas& deltas) const;

  size_t rows_ = 0;
  MlpRows at_;
  std::vector<size_t> value_, slope_;  // of a_0 .. a_L; of z_1 .. z_L
  size_t start_ = 0, phase_ = 0;       // c_1 + context; Bx
  AlignedFloats memory_;
};

}  // namespace selfnorm
