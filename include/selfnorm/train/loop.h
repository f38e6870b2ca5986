// The two training loops: full passes (L-BFGS) and minibatches (AdaGrad, Adam), over the same inputs and
// outputs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "selfnorm/data/dataset.h"
#include "selfnorm/normalizer/problem.h"
#include "selfnorm/train/options.h"
#include "selfnorm/train/subtracted.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

struct LoopInput {
  const Dataset& train;  // already scaled and weighted
  const Dataset* valid;  // null: no validation
  const TrainOptions& options;
  const CheckpointOptions& checkpoint;
  TrainObserver& observer;
  uint32_t features;
  uint32_t classes;
  std::string optimiser;    // resolved
  std::string fingerprint;  // of data and options

  ParameterShape shape() const { return parameter_shape(train.is_joint(), features, classes); }
};

enum class Ending { complete, interrupted, diverged };

template <class Real>
struct LoopOutput {
  std::vector<Real> theta;  // without the centre
  Subtracted subtracted;    // c (nce, snl: b) at the end
  bool calibrated = false;  // its constant is the mean of A (less b(x)) on the validation data
  std::string reason;
  Ending ending = Ending::complete;
  Progress last;
};

template <class Real>
class Validation;
template <class Real>
class MinibatchStep;

// What the loops see of a problem, whatever its outputs are.
template <class Real>
struct LoopProblem {
  const TrainOptions& options;
  const CheckpointOptions& checkpoint;
  TrainObserver& observer;
  std::string optimiser, fingerprint;
  uint64_t examples = 0;
  size_t parameters = 0;    // of theta, without the centre
  size_t penalised = 0;     // the first so many are regularised
  std::vector<Real> start;  // theta, then the centre when it is learned
  Validation<Real>& validation;
};

// L-BFGS over the examples of `pass` with their weights (none: all 1).
template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopProblem<Real>& problem, const ExactPass<Real>& pass,
                                      std::span<const float> weight);

// AdaGrad or Adam with steps of `batch` examples; `row_norm` is the root mean square of |x| that the default
// rate is divided by.
template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step,
                                      uint64_t batch, double row_norm);

// The same for rows of features.
template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopInput& input);

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input);

// How many vectors of parameters a loop holds at most, in memory and in a checkpoint.
struct LoopVectors {
  double memory = 0, checkpoint = 0;
};
LoopVectors loop_vectors(const TrainOptions& options, const std::string& optimiser, bool has_valid);

// `auto` resolved for so many parameters.
std::string choose_optimiser(const TrainOptions& options, size_t parameters);

// theta at the start: zero weights, normalised biases, then the centre when it is learned. A learned b (nce,
// snl) starts at log sum_k h(k) instead, with zero biases, and is not part of theta.
template <class Real>
std::vector<Real> starting_point(const LoopInput& input);

template <class Real>
LoopProblem<Real> loop_problem(const LoopInput& input, Validation<Real>& validation) {
  return {.options = input.options,
          .checkpoint = input.checkpoint,
          .observer = input.observer,
          .optimiser = input.optimiser,
          .fingerprint = input.fingerprint,
          .examples = input.train.examples(),
          .parameters = input.shape().size(),
          .penalised = input.shape().penalised(),
          .start = starting_point<Real>(input),
          .validation = validation};
}

}  // namespace selfnorm
