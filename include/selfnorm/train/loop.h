// The two training loops: full passes (L-BFGS) and minibatches (AdaGrad, Adam), over the same inputs and
// outputs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "selfnorm/data/dataset.h"
#include "selfnorm/normalizer/problem.h"
#include "selfnorm/train/options.h"
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
  double centre = 0;        // c (nce, snl: b) at the end
  bool calibrated = false;  // c is the mean of A on the validation data
  std::string reason;
  Ending ending = Ending::complete;
  Progress last;
};

template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopInput& input);

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input);

// theta at the start: zero weights, normalised biases, then the centre when it is learned (nce, snl: zero
// biases and b = log sum_k h(k)).
template <class Real>
std::vector<Real> starting_point(const LoopInput& input);

}  // namespace selfnorm
