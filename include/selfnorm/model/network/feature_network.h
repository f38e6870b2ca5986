// h(x): what the heads of a regressor read. Two kinds: a dense network of the encoded columns, and a
// TorchScript module that maps the numeric inputs (rows x p float32) to features (rows x width) and is
// trained with the rest.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/model/energy/energy.h"
#include "selfnorm/model/network/dense_network.h"

namespace selfnorm {

class FeaturePass {
 public:
  virtual ~FeaturePass() = default;
  // rows x width, contiguous; valid until the next forward. x has to live until backward.
  virtual Points forward(const InputRows& x) = 0;
  // gradient += sum_i d_i^T dh_i/dtheta, d (rows x width).
  virtual void backward(std::span<const float> d, std::span<float> gradient) = 0;
};

class FeatureNetwork {
 public:
  virtual ~FeatureNetwork() = default;

  virtual uint32_t inputs() const = 0;               // numeric
  virtual std::vector<uint32_t> levels() const = 0;  // of the categorical inputs
  virtual uint32_t width() const = 0;
  virtual std::span<float> parameters() = 0;
  virtual std::span<const float> parameters() const = 0;
  virtual void parameters_changed() = 0;
  virtual void set_unseen(const std::vector<std::vector<uint64_t>>& count) = 0;  // see DenseNetwork
  virtual std::unique_ptr<FeaturePass> make_pass() const = 0;
  virtual void evaluate(const InputRows& x, std::span<float> h) const = 0;
  // kind: dense | torchscript.
  virtual EnergyRecord record() const = 0;
};

// shape.activates_output is set; with no widths h(x) = x, and levels are one-hot: a linear model.
std::unique_ptr<FeatureNetwork> make_dense_features(DenseShape shape, uint64_t seed);
// path: a TorchScript file; throws Error when it cannot be loaded, has no parameters to train on (then it is
// used as it is) only if it also does not map (n, inputs) to (n, width).
std::unique_ptr<FeatureNetwork> load_module_features(const std::string& path, uint32_t inputs);
std::unique_ptr<FeatureNetwork> make_features(const EnergyRecord& record);

}  // namespace selfnorm
