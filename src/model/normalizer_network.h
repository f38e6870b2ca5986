// The amortised normalizer as a function of its parameters, with its gradient:
//     b(x) = sum_j u_j max(0, s_j(x)) + s_m(x),     s_j(x) = V_j . x + t_j,   s_m(x) = v . x + a,
// where s_0 .. s_m are the scores of a multiclass model with m + 1 classes (model/multiclass.h).
// theta = its (d+1) x (m+1) parameters, then u. With r = db:
//     d s_j = r u_j [s_j > 0],   d s_m = r,   d u_j = r max(0, s_j).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model_file.h"
#include "model/multiclass.h"
#include "model/parameters.h"

namespace selfnorm {

// The rows b is a function of. The features may be renumbered as those of a minibatch.
struct NormalizerInput {
  const Features& x;
  const FeatureMap* map = nullptr;
};

// Examples with the values b should have.
struct NormalizerTargets {
  const Features& x;
  std::span<const double> value;
  const FeatureMap* map = nullptr;
};

template <class Real>
class NormalizerNetwork {
 public:
  NormalizerNetwork(uint32_t features, uint32_t hidden) : features_(features), hidden_(hidden) {}

  uint32_t features() const { return features_; }
  uint32_t hidden() const { return hidden_; }
  uint32_t width() const { return hidden_ + 1; }
  // Where u starts in theta.
  size_t output() const { return (size_t{features_} + 1) * width(); }
  size_t parameters() const { return output() + hidden_; }
  // One row per column of x, the biases, then u.
  size_t gradient_size(const Features& x) const { return (size_t{x.columns()} + 1) * width() + hidden_; }

  // b(x_i) for every row.
  std::vector<double> values(const NormalizerInput& input, std::span<const Real> theta) const;

  // What backward needs of a forward pass.
  struct Activations {
    NormalizerInput input;
    std::vector<std::vector<Real>> scores;  // s_j(x_i), tile by tile of units, rows x units of the tile each
    std::vector<double> value;              // b(x_i)
    double hidden_square = 0;               // mean_i sum_j max(0, s_j(x_i))^2
  };
  Activations forward(const NormalizerInput& input, std::span<const Real> theta) const;
  // gradient += sum_i d_value[i] db(x_i)/dtheta. Uses the activations up.
  void backward(Activations activations, std::span<const Real> theta, std::span<const double> d_value,
                std::span<Real> gradient) const;

  // sum_i (b(x_i) - value_i)^2; gradient (or empty) += `scale` times its gradient.
  double squared_error(const NormalizerTargets& targets, std::span<const Real> theta, double scale,
                       std::span<Real> gradient) const;

  // theta for scaled features as a function of the features themselves.
  AmortisedNormalizer amortised(std::span<const Real> theta, const Scaling& scaling) const;

 private:
  uint64_t tiles() const;
  Range tile(uint64_t t) const;

  uint32_t features_;
  uint32_t hidden_;
};

// b of scaled features as a function of the features themselves.
AmortisedNormalizer folded(const AmortisedNormalizer& normalizer, const Scaling& scaling);

// b(x_i) for every row, in double.
std::vector<double> values_of(const AmortisedNormalizer& normalizer, const Features& x);

}  // namespace selfnorm
