#include "family/regressor/train/regressor_networks_pass.h"

#include <algorithm>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::unique_ptr<DensePass> pass_of(const std::unique_ptr<DenseNetwork>& network) {
  return network == nullptr ? nullptr : std::make_unique<DensePass>(*network);
}

}  // namespace

RegressorNetworksPass::RegressorNetworksPass(const RegressorNetworks& networks)
    : networks_(networks),
      features_(networks.features->make_pass()),
      tilt_features_(networks.tilt_features ? networks.tilt_features->make_pass() : nullptr),
      mixture_head_(pass_of(networks.mixture_head)),
      context_head_(pass_of(networks.context)),
      normalizer_head_(pass_of(networks.normalizer)) {}

void RegressorNetworksPass::forward(const InputRows& x, bool with_tilt) {
  SELFNORM_CHECK(!with_tilt || context_head_ != nullptr);
  with_tilt_ = with_tilt;
  const Points h = features_->forward(x);
  mixture_ = mixture_head_->forward({h, nullptr, 0});
  d_mixture_.assign(mixture_.size(), 0);
  if (!with_tilt) return;
  const Points h_tilt = tilt_features_ ? tilt_features_->forward(x) : h;
  context_ = context_head_->forward({h_tilt, nullptr, 0});
  d_context_.assign(context_.size(), 0);
  b_.assign(x.rows(), 0);
  d_b_.assign(x.rows(), 0);
  if (normalizer_head_ == nullptr) return;
  const Points b = normalizer_head_->forward({h_tilt, nullptr, 0});
  std::copy_n(b.data, b.rows, b_.begin());
}

// The order of RegressorNetworks::parameters(): features, tilt_features, mixture_head, context, tilt,
// normalizer.
void RegressorNetworksPass::backward(const std::vector<std::span<float>>& gradient) {
  const uint64_t n = mixture_.rows;
  size_t at = 0;
  const std::span<float> features = gradient[at++];
  const std::span<float> tilt_features = tilt_features_ ? gradient[at++] : std::span<float>();
  dh_.resize(n * networks_.features->width());
  mixture_head_->backward(d_mixture_, gradient[at++], dh_);
  if (with_tilt_) {
    dh_tilt_.resize(n * (tilt_features_ ? networks_.tilt_features->width() : networks_.features->width()));
    context_head_->backward(d_context_, gradient[at++], dh_tilt_);
    ++at;  // the tilt, whose gradient the step has
    if (normalizer_head_ != nullptr) {
      d_b_float_.assign(d_b_.begin(), d_b_.end());
      normalizer_head_->backward(d_b_float_, gradient[at++], {});
    }
    if (tilt_features_)
      tilt_features_->backward(dh_tilt_, tilt_features);
    else
      for (size_t i = 0; i < dh_.size(); ++i) dh_[i] += dh_tilt_[i];
  }
  features_->backward(dh_, features);
}

}  // namespace selfnorm
