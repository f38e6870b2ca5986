// The parameters of a network energy as its products read them: packed, and divided by sigma_l.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "math/panel_product.h"
#include "model/energy/mlp_rows.h"
#include "model/energy/mlp_shape.h"

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

// sigma = u . W v, the largest singular value of W (out x in) by power iteration from a fixed start, so that
// it is a function of W alone: v <- W'u / |W'u|, u <- Wv / |Wv| until u stands still or kMostIterations. With
// G the gradient by W / sigma, u and v constants [Miyato et al. 2018]:
//     dW = (G - <G, W / sigma> u v') / sigma.
class SpectralNorm {
 public:
  SpectralNorm(size_t out, size_t in) : u_(out), v_(in) {}

  double sigma() const { return sigma_; }
  void measure(std::span<const float> w);
  // total += dW.
  void add_gradient(std::span<const float> w, std::span<const float> g, std::span<float> total) const;

 private:
  static constexpr int kMostIterations = 1000;

  std::vector<float> u_, v_;
  double sigma_ = 1;
};

}  // namespace selfnorm
