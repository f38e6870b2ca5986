// p(y|x) for real y of 1 to 3 dimensions, with the target standardised, u = (y - mean) / scale:
//     s(x, u) = f(W h(x), u) + log q_w(u|x),      log p(y|x) = s(x, u) - A(x) - sum_j log scale_j,
// h(x) the features, q_w(u|x) the mixture density network with a small weight w of its broad component, f the
// tilt that starts at 0, b(x) a small network that stands for A(x). f grows at most linearly in u and q_w
// falls like a normal density, so A(x) is finite for all parameters. Without a tilt (`mdn`) A(x) = 0.
//     features h --> mixture head (linear) --> q(u|x)
//              \--> context (linear) --> f(., u)         \--> b head --> b(x), of h as a constant
// With own_features the tilt has features of its own instead of those of the mixture.
//
// A member of temperature T has f / T for f and components of sqrt(T) times their scales: of one component
// without a broad one that is p^(1/T), of several every mode widens where it is. Means, weights and the broad
// component stay, and A(x) is that of the score as it then is. T is fitted on held-out rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/table/frame_encoder.h"
#include "data/table/target_ends.h"
#include "model/energy/conditional_energy.h"
#include "model/energy/energy.h"
#include "model/network/dense_network.h"
#include "model/regressor/conditional_scores.h"
#include "proposal/conditional/mixture.h"
#include "selfnorm/error.h"

namespace selfnorm {

// One member of an ensemble; almost always the only one.
struct RegressorNetworks {
  std::unique_ptr<FeatureNetwork> features;
  std::unique_ptr<FeatureNetwork> tilt_features;  // null: `features`
  std::unique_ptr<DenseNetwork> mixture_head;
  std::unique_ptr<DenseNetwork> context;  // null, with the two below: no tilt (mdn)
  std::unique_ptr<ConditionalEnergy> tilt;
  std::unique_ptr<DenseNetwork> normalizer;  // b of the features of the tilt; null: b = 0
  double temperature = 1;                    // T > 0

  // Every network's parameters in a fixed order (those that are there), and the word that they changed.
  // features, tilt_features, mixture_head, context, tilt, normalizer.
  std::vector<std::span<float>> parameters();
  void parameters_changed();
  RegressorNetworks copy() const;
};

// A minibatch through the networks of x of a regressor and back:
//     h = features(x),  theta = mixture head(h),  h' = features of the tilt (h itself unless it has its own),
//     c = context(h'),  b = normalizer(h'), of h' as a constant.

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

// The parameters of several networks as one vector: what an optimiser steps, averages and keeps.
class FlatParameters {
 public:
  explicit FlatParameters(std::vector<std::span<float>> blocks) : blocks_(std::move(blocks)) {
    for (const std::span<float> block : blocks_) {
      offset_.push_back(size_);
      size_ += block.size();
    }
  }

  size_t size() const { return size_; }
  size_t blocks() const { return blocks_.size(); }
  // The part of a vector of size() that belongs to block i.
  template <class T>
  std::span<T> part(std::span<T> flat, size_t i) const {
    return flat.subspan(offset_[i], blocks_[i].size());
  }
  // All of them, of a vector of size().
  std::vector<std::span<float>> parts(std::span<float> flat) const {
    std::vector<std::span<float>> out;
    for (size_t i = 0; i < blocks(); ++i) out.push_back(part(flat, i));
    return out;
  }
  size_t offset(size_t i) const { return offset_[i]; }

  std::vector<float> gather() const {
    std::vector<float> flat(size_);
    for (size_t i = 0; i < blocks_.size(); ++i)
      std::copy(blocks_[i].begin(), blocks_[i].end(), flat.begin() + static_cast<ptrdiff_t>(offset_[i]));
    return flat;
  }
  void scatter(std::span<const float> flat) const {
    SELFNORM_CHECK(flat.size() == size_);
    for (size_t i = 0; i < blocks_.size(); ++i)
      std::copy_n(flat.begin() + static_cast<ptrdiff_t>(offset_[i]), blocks_[i].size(), blocks_[i].begin());
  }

 private:
  std::vector<std::span<float>> blocks_;
  std::vector<size_t> offset_;
  size_t size_ = 0;
};

// Where a target lies: inside the support; inside, but more than kFarthestTarget scales from the mean, where
// the density is less than any double (training targets are within sqrt(rows) scales) and the networks leave
// the range of float; outside the support or not finite.
enum class TargetReach { kInside, kFar, kOutside };
inline constexpr double kFarthestTarget = 1e12;

struct Regressor {
  FrameEncoder encoder;
  std::vector<std::string> targets;  // names of the columns
  // What the one target is where it is no number (data/table/target_ends.h): interval, count or ordinal, and
  // the column of the upper ends of intervals.
  std::string target_kind = "number", target_high = {};
  std::vector<double> target_mean, target_scale;
  MixtureShape mixture;                    // support in standardised units
  double tail_weight = 0.01;               // w of the base
  bool has_base = true;                    // false: s = f + log g (the tilt does everything)
  std::vector<RegressorNetworks> members;  // >= 1; densities are averaged
  // How b came about: learned | fitted (to exact A of training inputs) | zero (nothing to normalise).
  std::string normalizer_kind = "learned";
  std::string objective_json = "{}", training_json = "{}", audit_json = "{}";

  uint32_t dimension() const { return mixture.dimension; }
  TargetColumns target() const { return {targets[0], target_high, target_kind}; }
  double log_volume() const;  // sum_j log target_scale_j
  // w of the base as q_w: 1, the broad component alone, when there is no other base.
  double base_weight() const { return has_base ? tail_weight : 1; }
  // One target, in the units of the data, to standardised units; u is set for kInside alone. What is outside
  // by no more than the rounding of the bound is on it.
  TargetReach standardise(std::span<const double> y, std::span<float> u) const;
};

// log q_w(u_i|x), what the tilt of a score starts from (Regressor::base_weight).
void base_log_prob(const ConditionalMixture& mixture, double w, const MixturePoints& at,
                   std::span<double> log_prob);

// Runs the networks of a member on x, once, for any number of y. The regressor and x have to outlive it.
std::unique_ptr<ConditionalScores> prepare_scores(const Regressor& model, const RegressorNetworks& member,
                                                  const InputRows& x);
inline std::unique_ptr<ConditionalScores> prepare_scores(const Regressor& model, size_t member,
                                                         const InputRows& x) {
  return prepare_scores(model, model.members[member], x);
}

// One safetensors file with family "regressor" in its metadata.
void save_regressor(const Regressor& model, const std::string& path);  // whole or not at all
// Throws Error naming the file. `code`: what becomes of a module in it.
Regressor load_regressor(const std::string& path, EmbeddedCode code = EmbeddedCode::refuse);

}  // namespace selfnorm
