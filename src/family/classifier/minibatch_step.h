// What one minibatch does to the parameters: the part of minibatch training (train/loop.h) that differs
// between log-normalizers that are computed and those that are sampled.
#pragma once

#include <memory>
#include <span>

#include "engine/checkpoint.h"
#include "family/classifier/loop.h"
#include "objective/loss.h"
#include "optim/adaptive.h"

namespace selfnorm {

template <class Real>
class MinibatchStep {
 public:
  virtual ~MinibatchStep() = default;

  // The order a step keeps the parameters in is its own; feature-major (model/multiclass.h) unless it says
  // otherwise. `buffer` may be used to hold the answer.
  virtual std::vector<Real> own_order(std::vector<Real> theta) const { return theta; }
  virtual std::span<const Real> feature_major(std::span<const Real> theta, std::vector<Real>& buffer) const;

  // theta: the parameters in that order, then c when the exact step learns it.
  // The terms of the loss over these examples; their gradient is kept for update(). Randomness is that of
  // stream `step`, so a resumed run needs nothing else.
  virtual LossSum gradient(std::span<const uint64_t> examples, uint64_t step,
                           std::span<const Real> theta) = 0;
  virtual double gradient_norm() const = 0;
  virtual void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) = 0;

  // What raw scores have subtracted, and its constant alone.
  virtual Subtracted subtracted(std::span<const Real> theta) const = 0;
  virtual double centre(std::span<const Real> theta) const { return subtracted(theta).constant; }

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
  virtual void save(Checkpoint&) const {}
  virtual void restore(const Checkpoint&) {}
};

template <class Real>
std::span<const Real> MinibatchStep<Real>::feature_major(std::span<const Real> theta,
                                                         std::vector<Real>& /*buffer*/) const {
  return theta;
}

// Of the optimiser's default rate: a likelihood that is not normalised has far noisier gradients.
double rate_of_objective(const Objective& objective);

// `batch` is the number of examples of a step. Keeps a reference.
template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_exact_step(const LoopInput& input, uint64_t batch);

// nce, ranking-nce, is, snl on multiclass data.
template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_candidate_step(const LoopInput& input, uint64_t batch);

}  // namespace selfnorm
