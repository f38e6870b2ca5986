// A network of dense layers: where its parameters are in theta, and as its products read them, packed. With f
// the activation,
//     a_0 = x, or (x, cos Bx, sin Bx),     a_l = f(z_l),   z_l = W_l a_{l-1} + c_l,
// with residual layers (l > 1, equal widths) a_l = a_{l-1} + f(z_l); the last layer may be linear, a_L = z_L.
// z_1 may start from more than c_1: from a context, a row that some inputs share, and from the embeddings
// E_k[level_k] of categorical inputs, which is what a matrix times a one-hot vector is.
// The network gives a_L, or the score s = w . a_L.
//
// theta: B (F x d), W_l (row-major, out x in) and c_l of every layer, w, E_k (levels x out_1). With
// is_spectral W_l stands for W_l / sigma_l (SpectralNorm).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "data/table/frame_encoder.h"
#include "math/activation.h"
#include "math/panel_product.h"
#include "math/random.h"

namespace selfnorm {

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

struct NetworkPlan {
  uint32_t inputs = 0;           // d, numeric
  uint32_t fourier = 0;          // F
  std::vector<uint32_t> levels;  // of the categorical inputs
  std::vector<uint32_t> widths;  // out of every layer; at least one
  Activation activation = Activation::silu;
  bool is_residual = false, is_spectral = false;
  bool activates_output = true;
  bool has_score = false;  // w
};

struct NetworkLayer {
  uint32_t in, out;
  bool is_activated, is_residual;
  size_t weight, bias;  // where W and c are

  size_t size() const { return size_t{in} * out; }  // of W
};

// A parameter as files name it, and where it is in theta.
struct NetworkTensor {
  std::string name;
  std::vector<uint64_t> sizes;
  size_t begin, count;
};

struct NetworkShape : NetworkPlan {
  explicit NetworkShape(const NetworkPlan& plan);

  uint32_t features() const { return inputs + 2 * fourier; }  // the width of a_0
  uint32_t width() const { return widths.back(); }
  // Of a_l.
  uint32_t width(size_t l) const { return l == 0 ? features() : widths[l - 1]; }
  std::vector<NetworkTensor> tensors() const;  // in the order of theta

  std::vector<NetworkLayer> layers;
  size_t output = 0;               // where w is
  std::vector<size_t> embeddings;  // where E_k is
  size_t parameters = 0;
  size_t largest_stride = 0;  // of a row of a_0 .. a_L
};

// The rows a network is evaluated on.
struct NetworkRows {
  NetworkRows() = default;
  NetworkRows(const Points& points) : x(points) {}
  NetworkRows(const Points& points, const Points& contexts, const uint32_t* rows)
      : x(points), context(contexts), row(rows) {}
  NetworkRows(const InputRows& inputs)
      : x(inputs.number), level(inputs.level), categorical(inputs.categorical) {}

  NetworkRows slice(uint64_t begin, uint64_t end) const;
  // body(begin, end, r) for the rows [begin, end) of every context r that has some.
  template <class Body>
  void for_contexts(const Body& body) const {
    for (uint64_t begin = 0; begin < x.rows;) {
      uint64_t end = begin + 1;
      while (end < x.rows && row[end] == row[begin]) ++end;
      body(begin, end, row[begin]);
      begin = end;
    }
  }

  Points x, context;
  const uint32_t* row = nullptr;    // the context of every x; does not decrease; null: no contexts
  const uint32_t* level = nullptr;  // rows x categorical
  uint32_t categorical = 0;
};

struct NetworkGradient;

struct Network {
  struct Layer {
    Panels forward;   // W^T (in x out), starting from c
    Panels backward;  // W (out x in); in the first layer only the columns of (cos Bx, sin Bx)
  };

  explicit Network(const NetworkPlan& plan);                                      // theta = 0
  void draw(RandomStream& random, size_t begin, size_t count, double deviation);  // theta ~ N(0, deviation^2)
  void pack();                                                                    // after theta has changed

  const float* output() const { return theta.data() + shape.output; }  // w
  const float* embedding(size_t k, uint32_t level) const {
    return theta.data() + shape.embeddings[k] + size_t{level} * shape.widths[0];
  }
  // z_1 of rows with a_0 = a; `start` has whole panels, for c_1 + context.
  void first_layer(const NetworkRows& rows, const float* a, size_t stride, float* start, float* z) const;
  // gradient += the sum of the parts, added in order; the first part becomes that sum.
  void add_gradient(std::span<NetworkGradient> parts, std::span<float> gradient) const;

  NetworkShape shape;
  std::vector<float> theta;
  std::vector<Layer> layers;
  Panels frequencies;                  // B^T (d x F)
  Panels from_phases;                  // B (F x d)
  Panels from_inputs;                  // the columns of x of W_1 (out x d)
  std::vector<SpectralNorm> spectral;  // of every layer; empty without is_spectral

 private:
  void add_parts(std::span<NetworkGradient> parts, std::span<float> total) const;
};

// The gradient of some rows, without that of the embeddings; its matrices transposed and in whole panels, as
// products write them.
struct NetworkGradient {
  explicit NetworkGradient(const NetworkShape& shape);

  void clear();
  float* weight(size_t l) { return values.data() + places[l].first; }  // in x out, panel_stride(out) apart
  float* bias(size_t l) { return values.data() + places[l].second; }
  float* frequencies() { return values.data(); }  // d x F, rows panel_stride(F) apart
  float* output() { return values.data() + places.back().first; }

  AlignedFloats values;
  std::vector<std::pair<size_t, size_t>> places;  // of W_l and c_l; of w
  // Of rows with contexts, rows x width(1): D_1 is summed here by context and not in bias(0).
  float* context = nullptr;
};

}  // namespace selfnorm
