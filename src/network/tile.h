// A network on a tile of rows, forward and back. With delta_l the derivative by a_l and D_l = delta_l
// f'(z_l):
//     dW_l += D_l^T a_{l-1},   dc_l += D_l,   delta_{l-1} = D_l W_l (+ delta_l, residual),   dE_k[level] +=
//     D_1, phases p = Bx:  g = -sin p delta_cos + cos p delta_sin,   dB += g^T x,   dx = D_1 W_1 + g B.
//
// With more orders, jets along directions v: (a, a', a'') of every layer,
//     z' = W a',  z'' = W a'',   a' = f' z',   a'' = f'' z'^2 + f' z''   (residual: plus the input's),
//     p' = Bv:  (cos p)' = -sin p p',  (cos p)'' = -cos p p'^2, ...,   s' = w . a'_L,  s'' = w . a''_L.
// Back, with g, g', g'' the derivatives by (a, a', a''):
//     D'' = f' g'',   D' = f' g' + 2 f'' z' g'',   D = f' g + f'' z' g' + (f''' z'^2 + f'' z'') g''.
#pragma once

#include <vector>

#include "network/network.h"

namespace selfnorm {

// In a tile, of jets in fewer; a tile may have more, its memory grows.
inline constexpr size_t kTileRows = 64, kJetRows = 32;

class NetworkTile {
 public:
  // What is only needed on the way back, by one tile after the other.
  struct Scratch {
    AlignedFloats delta, local, input;
  };
  // Of a loss, by s, s' and s'' of every row; null: 0.
  struct ScoreDerivatives {
    const double *value = nullptr, *first = nullptr, *second = nullptr;
  };

  // orders: 1 for values, 2 for (a, a'), 3 for (a, a', a''). Only values can be without a way back.
  explicit NetworkTile(const Network& network, size_t orders = 1, bool goes_back = true)
      : network_(network), orders_(orders), goes_back_(goes_back) {}

  // The rows have to live until the way back, v only with more orders than one.
  void forward(const NetworkRows& rows, const Points& v = {});
  void outputs(float* out) const;                      // a_L, contiguous
  void outputs(double* s) const { derivative(0, s); }  // w . a_L
  void derivative(size_t order, double* s) const;      // s, s' or s''

  // gradient += sum_i d_i ds_i/dtheta.
  void backward(const ScoreDerivatives& d, Scratch& scratch, NetworkGradient& gradient);
  // gradient += sum_i d_i^T da_L/dtheta with d (rows x outputs, contiguous); dx (rows x inputs) or null.
  void backward(const float* d, Scratch& scratch, NetworkGradient& gradient, float* dx);
  // dx_i <- ds/dx_i, row-major.
  void input_gradient(Scratch& scratch, float* dx);
  // D_1 of the last way back, rows x width(1), contiguous; with categorical inputs alone.
  void first_derivative(float* out) const;

 private:
  // The matrices of a layer: the orders of a below one another; z', z''; f', or f', f'', f'''.
  struct Layer {
    float *a, *z, *slope;
    size_t stride;
  };
  void reserve(size_t rows);
  void input(const Points& v);
  void activate_orders(const Layer& layer, const NetworkLayer& shape) const;
  void start_from_scores(const ScoreDerivatives& d, Scratch& scratch, NetworkGradient* gradient) const;
  // From delta_L to D_1 in `local`, or to g where there are phases; dx or null.
  void propagate(Scratch& scratch, NetworkGradient* gradient, float* dx);
  // D_l of delta_l, summed into the biases.
  void local_values(size_t l, const float* delta, float* local, NetworkGradient* gradient) const;
  void local_orders(size_t l, const float* delta, float* local, NetworkGradient* gradient) const;
  void phase_gradient(const float* local, Scratch& scratch) const;

  const Network& network_;
  size_t orders_;
  bool goes_back_;
  size_t rows_ = 0, capacity_ = 0;
  NetworkRows at_;
  AlignedFloats memory_;
  std::vector<Layer> layers_;  // a_0 .. a_L; a_0 may be x itself
  float* start_ = nullptr;     // c_1 + context
  float* phase_ = nullptr;     // p, p'
  float* first_ = nullptr;     // D_1; null without categorical inputs
};

}  // namespace selfnorm
