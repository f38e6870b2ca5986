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
LoopOutput<Real> train_in_full_passes(const LoopInput& input);

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input);

// theta at the start: zero weights, normalised biases, then the centre when it is learned. A learned b (nce,
// snl) starts at log sum_k h(k) instead, with zero biases, and is not part of theta.
template <class Real>
std::vector<Real> starting_point(const LoopInput& input);

}  // namespace selfnorm
