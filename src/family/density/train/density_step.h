// One step of training a density: the loss of a minibatch and its gradient. One implementation for each kind
// of objective: against samples of the proposal (snl, is, nce, ranking-nce), against Markov chains (cd, pcd),
// derivatives of the score (sm, ssm, dsm), conditionals (pseudo-likelihood).
#pragma once

#include <memory>
#include <optional>

#include "engine/checkpoint.h"
#include "family/density/train/density_problem.h"
#include "objective/candidate.h"

namespace selfnorm {

struct DensityStepTerms {
  double loss = 0;              // mean over the rows of the minibatch
  double d_log_normalizer = 0;  // snl, nce
  std::optional<ImportanceEstimate> estimate;
};

class DensityStep {
 public:
  virtual ~DensityStep() = default;

  // gradient += d loss / d theta (nothing when it is empty: only b moves). `step` names the random numbers.
  virtual DensityStepTerms operator()(const Points& batch, uint64_t step, double log_normalizer,
                                      std::span<float> gradient) = 0;
  // What a step against draws evaluates, and nothing else of the problem: the batch and the draws of the
  // step, with their log q (of the batch where the objective needs it) unless that cancels, and log_q is
  // empty.
  virtual void gather(const Points& /*batch*/, uint64_t /*step*/, std::span<float> /*rows*/,
                      std::span<double> /*log_q*/) {}
  // After the energy has moved: what else the step learns (a proposal) with this rate.
  virtual void update(double rate) { static_cast<void>(rate); }
  virtual bool uses_normalizer() const { return false; }  // b is part of the loss
  virtual bool has_memory() const { return false; }       // a step changes what the next one starts from

  virtual void state(CheckpointFields&) {}
};

// By the name of the objective.
std::unique_ptr<DensityStep> make_density_step(DensityProblem& problem);

}  // namespace selfnorm
