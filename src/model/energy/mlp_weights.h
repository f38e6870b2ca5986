// The parameters of a network energy as its products read them: packed, and divided by sigma_l.
#pragma once

#include <span>
#include <vector>

#include "mlp_rows.h"
#include "mlp_shape.h"
#include "selfnorm/math/panel_product.h"

namespace selfnorm {

struct MlpWeights {
  struct Layer {
    Panels forward;   // W^T (in x out), starting from c
    Panels backward;  // W (out x in); in the first layer only the columns of (cos Bx, sin Bx)
  };

  explicit MlpWeights(const MlpShape& shape);
  // W_l is divided by sigma[l].
  void assign(std::span<const float> theta, std::span<const double> sigma);
  // z_1 of the rows, whose a_0 is given; both have rows panel_stride(width) apart. `start` has whole panels
  // for c_1 + context.
  void first_layer(const MlpRows& rows, const float* a, float* start, float* z) const;

  MlpShape shape;
  std::vector<Layer> layers;
  Panels frequencies;             // B^T (d x F)
  Panels from_phases;             // B (F x d)
  Panels from_inputs;             // the columns of x of W_1 (out x d)
  const float* output = nullptr;  // w
};

}  // namespace selfnorm
