// b of nce and snl while it is learned (theory.md 3): 0, a constant, a linear function of the state x or a
// small network of it (model/model_file.h). It reads the state and does not move it: at the
// optimum b = A the expected derivative of the loss with respect to b is 0, so what would flow back is noise.
//
// Steps. A constant b moves against g, the mean derivative over the minibatch clipped to [-1, 1] (1 - r is
// unbounded for snl when b is too small), by AdaGrad with G0 = 1 at ten times the rate of the model's, at
// most 1: near the optimum d^2/db^2 = 1 for snl and less for nce, so a rate of 1 is Newton's. The slope of
// feature j does the same with the examples that use it, at 1 / S_j of that rate:
//     g_j = sum_i d_i x_ij / sum_i |x_ij|,   S_j = sum_i |x_ij| s_i / sum_i |x_ij|,   s_i = sum_j |x_ij|.
// Because (sum_j |x_ij| t_j)^2 <= s_i sum_j |x_ij| t_j^2, all features moving together change b by no more
// than a constant's step would, for x of any size, and a rare feature is as fast as a frequent one. mlp: the
// weights of hidden unit k do it with d_i u_k [s_k > 0] / (1 + |u|^2) in the place of d_i, and u with
// mean_i d_i h_i / mean_i |h_i|^2. Each group of parameters (intercept, slope, hidden biases, hidden weights,
// u) takes an equal share of the step. Lazy: a feature that no example uses keeps its parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/checkpoint.h"
#include "model/model_file.h"
#include "model/normalizer_network.h"
#include "objective/registry.h"

namespace selfnorm {

// Whether the objective has a b and learns it; ranking-nce and is have none.
bool learns_normalizer(const ObjectiveOptions& options);

template <class Real>
class LearnedNormalizer {
 public:
  // options.normalizer and normalizer_hidden say which b; it starts at `start` for every x, or is 0 for good
  // when it is not learned. mlp: u = v = 0, hidden weights random, of the size of 1 / |x| in the first
  // minibatch.
  LearnedNormalizer(const ObjectiveOptions& options, uint32_t features, double start, uint64_t seed);

  // b(x_i) for every row. The features of a minibatch may be renumbered by `map` (or null).
  std::vector<double> values(const Features& x, const FeatureMap* map) const;
  // One step; d[i] is the derivative of example i's loss with respect to b(x_i), not yet divided by the
  // number of examples.
  void update(const Features& x, const FeatureMap* map, std::span<const double> d, double rate);

  // All of b for zero and constant, otherwise the mean of b over recent minibatches: a level that makes raw
  // scores nearly normalised where b(x) is not subtracted.
  double constant() const;
  // Whether b depends on x.
  bool is_function() const { return is_function_; }
  // b(x) - constant(); none unless is_function().
  AmortisedNormalizer function() const;
  // log_normalizer and, when b is a function, the amortised normalizer.
  void store(ModelFile& model) const {
    model.log_normalizer = constant();
    model.normalizer = function();
  }

  // All that b, constant() and function() depend on, for a copy of them to go back to.
  std::span<Real> parameters() { return theta_; }
  std::vector<double> numbers() const { return {mean_sum_, mean_weight_}; }
  void set_numbers(std::span<const double> numbers) {
    mean_sum_ = numbers[0];
    mean_weight_ = numbers[1];
  }

  void state(CheckpointFields& fields);

 private:
  void size_hidden_weights(const Features& x);
  void update_constant(double mean, double rate);
  void update_function(const NormalizerInput& input, std::span<const double> d, double rate);
  void update_rows(const NormalizerInput& input, std::span<Real> gradient, double rate);
  void update_output(std::span<Real> gradient, double rows, double hidden_square, double rate);

  bool is_zero_, is_function_;
  double start_;
  NormalizerNetwork<Real> network_;  // of a function
  std::vector<Real> theta_;          // of the network; constant: b
  Adaptive<Real> optimiser_;
  bool is_sized_ = false;                  // mlp: the hidden weights have met their first minibatch
  double mean_sum_ = 0, mean_weight_ = 0;  // of b over recent minibatches, when it is a function
};

}  // namespace selfnorm
