// A minibatch through the networks of x of a regressor and back:
//     h = features(x),  theta = mixture head(h),  h' = features of the tilt (h itself unless it has its own),
//     c = context(h'),  b = normalizer(h'), of h' as a constant.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/regressor/regressor.h"

namespace selfnorm {

class RegressorNetworksPass {
 public:
  explicit RegressorNetworksPass(const RegressorNetworks& networks);

  // with_tilt false: the mixture alone. x has to live until backward.
  void forward(const InputRows& x, bool with_tilt);
  const Points& mixture() const { return mixture_; }
  const Points& context() const { return context_; }
  std::span<const double> normalizer() const { return b_; }  // all 0 without a network for it

  // Derivatives with respect to what forward gave, to be filled; set to zero by forward.
  std::span<float> d_mixture() { return d_mixture_; }
  std::span<float> d_context() { return d_context_; }
  std::span<double> d_normalizer() { return d_b_; }

  // One span for every network of RegressorNetworks::parameters(), added to; that of the tilt is the step's.
  void backward(const std::vector<std::span<float>>& gradient);

 private:
  const RegressorNetworks& networks_;
  bool with_tilt_ = false;
  std::unique_ptr<FeaturePass> features_, tilt_features_;
  std::unique_ptr<DensePass> mixture_head_, context_head_, normalizer_head_;
  Points mixture_, context_;
  std::vector<float> d_mixture_, d_context_, d_b_float_, dh_, dh_tilt_;
  std::vector<double> b_, d_b_;
};

}  // namespace selfnorm
