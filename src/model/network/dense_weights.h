// The parameters of a dense network, where they are in theta and as its products read them: packed.
#pragma once

#include <vector>

#include "math/panel_product.h"
#include "model/network/dense_network.h"

namespace selfnorm {

struct DenseWeights {
  struct Layer {
    uint32_t in, out;
    bool is_activated;
    size_t weight, bias;  // where W and c are
    Panels forward;       // W^T (in x out), starting from c
    Panels backward;      // W (out x in)
  };

  // Throws Error for a shape that is none. theta is 0.
  explicit DenseWeights(DenseShape s);
  void pack();  // after theta has changed

  const float* embedding(size_t k, uint32_t level) const {
    return theta.data() + embeddings[k] + size_t{level} * shape.widths[0];
  }
  bool has_levels() const { return !shape.levels.empty(); }

  DenseShape shape;
  std::vector<Layer> layers;
  std::vector<size_t> embeddings;  // where E_k is
  std::vector<float> theta;
  size_t largest_stride = 0;  // of a row of a layer or of its inputs
};

}  // namespace selfnorm
