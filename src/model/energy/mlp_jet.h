// Derivatives of a network energy along directions v: second-order jets (a, a', a'') of every layer,
//     z' = W a',  z'' = W a'',   a' = f' z',   a'' = f'' z'^2 + f' z''   (residual: plus the input's),
//     cos p, sin p of phases p = Bx with p' = Bv:  (cos p)' = -sin p p',  (cos p)'' = -cos p p'^2, ...
//     first = w . a'_L,  second = w . a''_L.
// Back, with g, g', g'' the derivatives by (a, a', a''):
//     D'' = f' g'',   D' = f' g' + 2 f'' z' g'',   D = f' g + f'' z' g' + (f''' z'^2 + f'' z'') g''.
#pragma once

#include <span>
#include <vector>

#include "model/energy/mlp_rows.h"
#include "model/energy/mlp_tile.h"
#include "model/energy/mlp_weights.h"

namespace selfnorm {

inline constexpr size_t kJetRows = 32;

class MlpJet {
 public:
  // orders: 2 for (a, a'), 3 for (a, a', a'').
  MlpJet(const MlpShape& shape, size_t orders);

  // At most kJetRows rows; second is for three orders. The numbers of the contexts have to live until
  // backward.
  void forward(const MlpWeights& weights, const MlpRows& rows, const Points& v, double* first,
               double* second);
  // gradient += sum_i d_first_i d first_i/dtheta + d_second_i d second_i/dtheta.
  void backward(const MlpWeights& weights, const double* d_first, const double* d_second,
                MlpGradient& gradient);

 private:
  // The matrices of a layer: the orders of a below one another; z', z''; f', f'', f'''.
  struct Layer {
    AlignedFloats a, z, slope;
    size_t stride;
  };
  void input(const MlpWeights& weights, const Points& x, const Points& v);
  void activate_orders(Activation f, Layer& layer, size_t columns);
  void local_orders(const Layer& layer, size_t columns);
  void phase_gradient(const MlpWeights& weights, MlpGradient& gradient);

  size_t orders_, rows_ = 0;
  MlpRows at_;
  std::vector<Layer> layers_;    // a_0 .. a_L
  AlignedFloats start_, phase_;  // c_1 + context; p, p'
  AlignedFloats delta_, local_;  // g, g', g''; D, D', D''
};

}  // namespace selfnorm
