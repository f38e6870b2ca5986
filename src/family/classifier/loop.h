// The two ways to train log-linear models and CRFs: full passes (L-BFGS) and minibatches (AdaGrad, Adam),
// over the same inputs and outputs. The loop is that of engine/engine.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "family/classifier/options.h"
#include "family/classifier/validation.h"
#include "model/class_shard.h"
#include "model/model_file.h"
#include "normalizer/problem.h"
#include "normalizer/shard_softmax.h"
#include "objective/loss.h"
#include "optim/adaptive.h"

namespace selfnorm {

class GpuDevice;

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
  const Dataset* unlabelled = nullptr;
  ClassShard shard = {};  // parameters are the columns of its own classes

  ParameterShape shape() const {
    return parameter_shape(train.is_joint(), features,
                           shard.exists() ? static_cast<uint32_t>(shard.own().size()) : classes);
  }
  // Of data with these features and classes.
  template <class Real>
  std::unique_ptr<ExactPass<Real>> pass_over(const Dataset& data, const FeatureMap* map = nullptr) const {
    return shard.exists() ? make_shard_pass<Real>(shard, data, features, map)
                          : make_exact_pass<Real>(data, features, classes, options.log_carrier, map);
  }
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
  double l2;                           // that theta was trained with
  std::map<double, double> path = {};  // of l2: the criterion of the last check at each
  std::string device = {};             // that trained it; empty: the CPU
};

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
  size_t parameters = 0;  // of theta, without the centre
  size_t penalised = 0;   // the first so many are regularised
  ClassShard shard = {};  // whose own classes theta has a column of each for, in so many rows
  size_t rows = 0;
  std::vector<Real> start;  // theta, then the centre when it is learned
  HeldOutMeasure<Real> held_out;
  uint64_t check_epochs = 1;  // minibatches: from one check to the next
};

// What one minibatch does to the parameters: the part of minibatch training (family/classifier/loop.h) that
// differs between log-normalizers that are computed and those that are sampled.

template <class Real>
class MinibatchStep {
 public:
  virtual ~MinibatchStep() = default;

  // The order a step keeps the parameters in is its own; feature-major (model/multiclass.h) unless it says
  // otherwise. `buffer` may be used to hold the answer.
  virtual std::vector<Real> own_order(std::vector<Real> theta) const { return theta; }
  virtual std::span<const Real> feature_major(std::span<const Real> theta, std::vector<Real>&) const {
    return theta;
  }

  // theta: the parameters in that order, then c when the exact step learns it.
  // The terms of the loss over these examples; their gradient is kept for update(). Randomness is that of
  // stream `step`, so a resumed run needs nothing else.
  virtual LossSum gradient(std::span<const uint64_t> examples, uint64_t step,
                           std::span<const Real> theta) = 0;
  virtual double gradient_norm() const = 0;
  virtual void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) = 0;

  // Where the parameters and the optimiser's state are kept elsewhere (a GPU): the host's copies become
  // those, and the other way round.
  virtual void pull(std::span<Real> /*theta*/, Adaptive<Real>& /*optimiser*/) {}
  virtual void push(std::span<const Real> /*theta*/, Adaptive<Real>& /*optimiser*/) {}

  // What raw scores have subtracted, and its constant alone.
  virtual Subtracted subtracted(std::span<const Real> theta) const = 0;
  virtual double centre(std::span<const Real> theta) const { return subtracted(theta).constant; }

  virtual std::string device() const { return {}; }  // the GPU it runs on; empty: none
  // Of the optimiser's default rate.
  virtual double rate_factor() const { return 1; }
  // Whether a step costs less than a pass over the parameters, so that reports must not make one either.
  virtual bool is_lazy() const { return false; }
  // What to do when the loss is not finite.
  virtual const char* remedy() const = 0;

  // Of a snapshot, besides theta: what else subtracted() depends on.
  virtual std::span<Real> more_parameters() { return {}; }
  virtual std::vector<double> numbers() const { return {}; }
  virtual void set_numbers(std::span<const double> /*numbers*/) {}

  // What there is besides the parameters and their optimiser.
  virtual void state(CheckpointFields&) {}
};

// What full passes go over.
template <class Real>
struct TrainingPass {
  const ExactPass<Real>& pass;
  std::span<const float> weight = {};  // none: all 1
  const ExactPass<Real>* unlabelled =
      nullptr;  // inputs that the penalty is of too; their targets do not count
};

// L-BFGS over these examples.
template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopProblem<Real>& problem, const TrainingPass<Real>& training);

// AdaGrad or Adam with steps of `batch` examples; `row_norm` is the root mean square of |x| that the default
// rate is divided by.
template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step,
                                      uint64_t batch, double row_norm);

// AdaGrad's G0 for steps of `batch` examples.
double initial_square(uint64_t batch);

// How many vectors of parameters a loop holds at most, in memory and in a checkpoint.
struct LoopVectors {
  double memory = 0, checkpoint = 0;
};
LoopVectors loop_vectors(const TrainOptions& options, const std::string& optimiser, bool has_valid);

// `auto` resolved for so many parameters.
std::string choose_optimiser(const TrainOptions& options, size_t parameters);

// Of the optimiser's default rate: a likelihood that is not normalised has far noisier gradients.
double rate_of_objective(const Objective& objective);

// `batch` is the number of examples of a step. Keeps a reference.
template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_exact_step(const LoopInput& input, uint64_t batch);

// The same on the chosen device (gpu/device.h); none when that is the CPU or cannot do it, and by the choice
// "auto" also where minibatches are small.
std::unique_ptr<MinibatchStep<float>> make_device_step(const LoopInput& input, uint64_t batch);
// What the chosen device trains: its name; empty where it is left to the CPU. Throws Error where a GPU was
// asked for by name and cannot do it.
std::string training_device(const LoopInput& input, uint64_t batch);

// c of the exact step.
template <class Real>
Subtracted constant_of(const ObjectiveOptions& o, std::span<const Real> theta) {
  return {o.learn_centre ? static_cast<double>(theta.back()) : o.centre.value_or(0), {}};
}
std::unique_ptr<MinibatchStep<float>> make_device_candidate_step(const GpuDevice& device,
                                                                 const LoopInput& input, uint64_t batch);
inline constexpr const char* kCandidateRemedy = "a smaller `learning-rate` or more `samples`";
inline constexpr const char* kExactRemedy = "a smaller `learning-rate` or a larger `alpha`";

// nce, ranking-nce, is, snl on multiclass data.
template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_candidate_step(const LoopInput& input, uint64_t batch);

}  // namespace selfnorm
