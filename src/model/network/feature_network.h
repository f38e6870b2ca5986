// h(x): what the heads of a regressor read. Three kinds:
//     dense        a dense network of the encoded columns, its output activated
//     linear       x itself, and for every categorical input a column for each level 1, 2, ... (one-hot)
//     torchscript  a module that maps the numeric inputs (rows x p float32) to features (rows x width), each
//                  row by itself, and is trained with the rest; no categorical inputs
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/table/frame_encoder.h"
#include "model/energy/energy.h"

namespace selfnorm {

// One minibatch forward and back, with the memory in between; reused. The same bits for any threads.
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
  // What level 0 is taken for, from count[k][level]. dense: see DenseNetwork; linear: the shares of the
  // levels, the mean of their one-hot vectors (0 until then); torchscript: nothing.
  virtual void set_unseen(const std::vector<std::vector<uint64_t>>& count) = 0;
  virtual std::unique_ptr<FeaturePass> make_pass() const = 0;
  virtual void evaluate(const InputRows& x, std::span<float> h) const = 0;
  // Its kind is one of the three.
  virtual EnergyRecord record() const = 0;
  virtual bool is_sealed() const { return false; }  // a module that was not loaded (EmbeddedCode::seal)
};

std::unique_ptr<FeatureNetwork> make_linear_features(uint32_t inputs, std::vector<uint32_t> levels);
// The module in the file `path`; its float parameters that require gradients are trained, one without any is
// used as it is. Throws Error naming the file when `code` is not run, when it cannot be read, is no
// TorchScript module, does not take n x `inputs`, or what it gives is not n x width finite numbers, each row
// by itself. Where libtorch comes from: model/energy/torchscript.h.
std::unique_ptr<FeatureNetwork> load_module_features(const std::string& path, uint32_t inputs,
                                                     EmbeddedCode code = EmbeddedCode::refuse);
// From record(); throws Error for one that is damaged.
std::unique_ptr<FeatureNetwork> make_features(const EnergyRecord& record,
                                              EmbeddedCode code = EmbeddedCode::refuse);
// Of a module that is not loaded (EmbeddedCode::seal); `width` is that which its readers expect.
std::unique_ptr<FeatureNetwork> make_sealed_features(const EnergyRecord& record, uint32_t width);

}  // namespace selfnorm
