// One objective on one minibatch. The networks of x have run: a step sees a row of mixture parameters, a
// context and b for every target, and gives the derivatives with respect to them and to the parameters of the
// tilt. Three kinds of objective:
//     candidates   snl, is, nce, ranking-nce of objective/registry.h against draws of the proposal; nce+ and
//                  kld-is: nce and is with a jittered target, y + noise e, e ~ N(0, I): NCE+ [Gustafsson et
//                  al. 2020], and the Monte Carlo form of KL(N(y, noise^2) || p)
//     chains       mcmc: contrast with Langevin chains that start at the target
//     matching     sm, dsm: derivatives in y
// The likelihood of the mixture itself, which is how the proposal is learned from data, belongs to the
// trainer.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "family/regressor/train/regressor_options.h"
#include "model/energy/conditional_energy.h"
#include "objective/candidate.h"
#include "proposal/conditional/mixture.h"

namespace selfnorm {

struct RegressorStepInput {
  Points y;                             // n x d, standardised
  Points mixture;                       // n x parameters
  Points context;                       // n x width
  std::span<const double> b;            // n; all 0 for objectives without b
  uint64_t step = 0;                    // names the random numbers
  std::span<const double> weight = {};  // n, of the rows: means are of weight_i times a term; empty: 1
};

// Means over the minibatch. The spans are set to zero by the caller and added to.
struct RegressorStepGradient {
  std::span<float> mixture;  // n x parameters
  std::span<float> context;  // n x width
  std::span<double> b;       // n
  std::span<float> tilt;     // of the parameters of the tilt
};

struct RegressorStepTerms {
  double loss = 0;               // mean over the minibatch, to be minimised
  double log_ratio = 0;          // mean of log r = log Z_hat - b, of objectives that make an estimate
  double effective_samples = 0;  // mean, of the same
  bool has_estimate = false;
};

// What a step works with; has to outlive it.
struct RegressorParts {
  const ConditionalEnergy& tilt;
  const ConditionalMixture& mixture;
  const RegressorOptions& options;
};

// log base of the score: log q_w(y|x) with the tail weight, or log g.
void base_log_prob(const RegressorParts& parts, const MixturePoints& at, std::span<double> out);

// Of the draws of the proposal at a step.
uint64_t candidate_sample_seed(uint64_t seed, uint64_t step);

// y_j of a target that was moved, reflected at the walls of the support.
float reflected(const ConditionalMixture& mixture, double y, uint32_t j);

class RegressorStep {
 public:
  virtual ~RegressorStep() = default;
  virtual bool uses_normalizer() const = 0;
  virtual RegressorStepTerms operator()(const RegressorStepInput& in, const RegressorStepGradient& out) = 0;
};

// Throws Error for an unknown objective, and for mdn, which has no step but the likelihood.
std::unique_ptr<RegressorStep> make_regressor_step(const RegressorParts& parts);

}  // namespace selfnorm
