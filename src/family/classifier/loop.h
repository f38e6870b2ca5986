// The two ways to train log-linear models and CRFs: full passes (L-BFGS) and minibatches (AdaGrad, Adam),
// over the same inputs and outputs. The loop is that of engine/engine.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/engine.h"
#include "family/classifier/options.h"
#include "family/classifier/validation.h"
#include "model/head/amortised_normalizer.h"
#include "normalizer/problem.h"

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

// What a model subtracts from its scores to make them log-probabilities: a constant c (b of nce and snl) and,
// where b was learned as a function, b(x) - c of the features as they are in training.
struct Subtracted {
  double constant = 0;
  AmortisedNormalizer function;  // none: 0
};

template <class Real>
struct LoopOutput {
  std::vector<Real> theta;  // without the centre
  Subtracted subtracted;    // c (nce, snl: b) at the end
  bool calibrated = false;  // its constant is the mean of A (less b(x)) on the validation data
  RunOutcome outcome;
};

template <class Real>
class MinibatchStep;

// What held-out data say of theta with something subtracted; nothing: there are no such data.
template <class Real>
using HeldOutMeasure =
    std::function<ValidationMeasure(std::span<const Real> theta, const Subtracted& subtracted)>;

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
  HeldOutMeasure<Real> held_out;
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

template <class Real>
LoopProblem<Real> loop_problem(const LoopInput& input);

}  // namespace selfnorm
