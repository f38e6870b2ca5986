// A network from rows to rows. With a_0 = x and f the activation,
//     z_1 = W_1 x + c_1 + sum_k E_k[level_k],   a_l = f(z_l),   z_l = W_l a_{l-1} + c_l,
//     out = z_L, or f(z_L) with activates_output.
// A categorical input is embedded by E_k: a learned vector of the first layer for every level, which is what
// a matrix times a one-hot vector is. Level 0 is for levels that training did not have.
//
// theta: W_l (row-major, out x in) and c_l of every layer, then E_k (levels x out_1).
// Start: W_l ~ N(0, 2 / in) for activated layers, N(0, output_scale^2 / in) for a linear last one; the biases
// of an activated first layer like its weights, so that its units bend at different places of x, others 0;
// E ~ N(0, 0.1^2), level 0 at 0.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "math/activation.h"
#include "model/network/feature_network.h"

namespace selfnorm {

struct DenseShape {
  uint32_t inputs = 0;           // numeric
  std::vector<uint32_t> levels;  // of the categorical inputs
  std::vector<uint32_t> widths;  // out of every layer, the last is the output; at least one
  Activation activation = Activation::silu;
  bool activates_output = false;
  double output_scale = 1;
};

class DenseNetwork;

// Parallel by blocks of at least 64 rows. The network has to outlive it (it may be moved).
class DensePass final : public FeaturePass {
 public:
  explicit DensePass(const DenseNetwork& network);
  ~DensePass() override;
  DensePass(DensePass&&) noexcept;

  Points forward(const InputRows& x) override;
  void backward(std::span<const float> d, std::span<float> gradient) override { backward(d, gradient, {}); }
  // dx (rows x inputs, or empty) is overwritten.
  void backward(std::span<const float> d, std::span<float> gradient, std::span<float> dx);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// Features where its output is activated, and what reads features where it is not.
class DenseNetwork final : public FeatureNetwork {
 public:
  DenseNetwork(DenseShape shape, uint64_t seed);  // throws Error for a shape that is none
  // From its record. `what` names the network in errors. Throws Error for shapes out of range, tensors that
  // are missing, of another shape or not finite.
  DenseNetwork(const EnergyRecord& record, const std::string& what);
  ~DenseNetwork() override;
  DenseNetwork(DenseNetwork&&) noexcept;

  const DenseShape& shape() const;
  uint32_t inputs() const override { return shape().inputs; }
  std::vector<uint32_t> levels() const override { return shape().levels; }
  uint32_t width() const override { return shape().widths.back(); }
  std::span<float> parameters() override;
  std::span<const float> parameters() const override;
  void parameters_changed() override;
  // E_k of every level whose count[k][level] is 0 <- the mean of E_k weighted by the counts: what a level
  // that training did not have is taken for.
  void set_unseen(const std::vector<std::vector<uint64_t>>& count) override;
  // Where c_L is in theta, for starts that the caller knows better.
  std::span<float> output_bias();

  std::unique_ptr<FeaturePass> make_pass() const override { return std::make_unique<DensePass>(*this); }
  void evaluate(const InputRows& x, std::span<float> out) const override;
  // Kind "dense", its shape as settings, tensors layer<l>.weight, layer<l>.bias and embedding<k>.weight.
  EnergyRecord record() const override;

 private:
  friend class DensePass;
  struct State;
  std::unique_ptr<State> state_;
};

// The linear kind where there are no widths; the output is activated whatever the shape says.
std::unique_ptr<FeatureNetwork> make_dense_features(DenseShape shape, uint64_t seed);

}  // namespace selfnorm
