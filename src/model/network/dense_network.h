// A network from rows to rows. With a_0 = x and f the activation,
//     z_1 = W_1 x + c_1 + sum_k E_k[level_k],   a_l = f(z_l),   z_l = W_l a_{l-1} + c_l,
//     out = z_L, or f(z_L) with activates_output.
// A categorical input is embedded by E_k: a learned vector of the first layer for every level, which is what
// a matrix times a one-hot vector is. Level 0 is for levels that training did not have.
//
// theta: W_l (row-major, out x in) and c_l of every layer, then E_k (levels x out_1). Gradients
//     D_l = delta_l f'(z_l),  dW_l += D_l^T a_{l-1},  dc_l += sum D_l,  dE_k[level] += D_1,  delta_{l-1} =
//     D_l W_l.
// Start: W_l ~ N(0, 2 / in) for activated layers, N(0, output_scale^2 / in) for a linear last one; the biases
// of an activated first layer like its weights, so that its units bend at different places of x, others 0;
// E ~ N(0, 0.1^2), level 0 at 0.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/table/frame_encoder.h"
#include "math/activation.h"
#include "math/random.h"

namespace selfnorm {

struct DenseShape {
  uint32_t inputs = 0;           // numeric
  std::vector<uint32_t> levels;  // of the categorical inputs
  std::vector<uint32_t> widths;  // out of every layer, the last is the output; at least one
  Activation activation = Activation::silu;
  bool activates_output = false;
  double output_scale = 1;

  size_t parameters() const;
};

class DenseNetwork;
struct DenseWeights;

// One minibatch forward and back, with the memory in between; reused from step to step. Parallel by blocks of
// at least 64 rows; the bits do not depend on the number of threads. The network has to outlive it (it may be
// moved).
class DensePass {
 public:
  explicit DensePass(const DenseNetwork& network);
  ~DensePass();
  DensePass(DensePass&&) noexcept;

  // rows x out, row-major and contiguous; valid until the next forward. x has to live until backward.
  Points forward(const InputRows& x);
  // gradient += sum_i d_i^T dout_i/dtheta with d (rows x out); dx (rows x inputs, or empty) is overwritten.
  void backward(std::span<const float> d, std::span<float> gradient, std::span<float> dx);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

class DenseNetwork {
 public:
  DenseNetwork(DenseShape shape, uint64_t seed);
  ~DenseNetwork();
  DenseNetwork(DenseNetwork&&) noexcept;

  const DenseShape& shape() const;
  uint32_t outputs() const { return shape().widths.back(); }
  std::span<float> parameters();
  std::span<const float> parameters() const;
  void parameters_changed();  // after writing to them

  // E_k of every level whose count[k][level] is 0 <- the mean of E_k weighted by the counts: what a level
  // that training did not have is taken for.
  void set_unseen(const std::vector<std::vector<uint64_t>>& count);
  // Where c_L is in theta, for starts that the caller knows better.
  std::span<float> output_bias();

  // The same as a pass forward, keeping nothing.
  void evaluate(const InputRows& x, std::span<float> out) const;

 private:
  friend class DensePass;
  std::unique_ptr<DenseWeights> weights_;
};

}  // namespace selfnorm
