// The one primitive value_and_gradient: objective x model x normalizer over a full data set or a minibatch.
#pragma once

#include <cstdint>
#include <span>

#include "normalizer/exact_pass.h"
#include "objective/candidate.h"
#include "objective/objective.h"

namespace selfnorm {

// Weighted sums with their weight, so that shards add up to the whole: mean = sum / weight.
struct LossSum {
  double weight = 0;      // of all examples
  double likelihood = 0;  // of the objective's likelihood term
  double penalty = 0;
  double normalised_weight = 0;  // of the examples whose A was computed; the sums below are over those
  double nll = 0;                // A - s, exact
  double log_z = 0;              // A - b
  double log_z_square = 0;       // (A - b - c)^2
  double d_centre = 0;           // derivative of likelihood + penalty
  double estimated_weight = 0;   // of the examples with an estimate Z_hat; the sums below are over those
  double log_ratio = 0;          // log r = log Z_hat - b
  double effective = 0;          // effective samples

  double mean_loss() const { return (likelihood + penalty) / weight; }
  double mean_nll() const { return nll / normalised_weight; }
  double mean_log_z() const { return log_z / normalised_weight; }
  double rms_log_z() const;
  double mean_log_ratio() const { return log_ratio / estimated_weight; }
  double mean_effective() const { return effective / estimated_weight; }
  LossSum& operator+=(const LossSum& other);
  // One example of a candidate objective with weight w and normalizer b.
  void add(const CandidateTerms& terms, double w, double b);
};

struct LossQuery {
  std::span<const float> weight = {};  // one per example, or empty for all 1
  double centre = 0;                   // c
  // b(x) of every example, or empty for 0: A - b stands in the place of A in log_z and log_z_square
  std::span<const double> normalizer = {};
  uint64_t normalised = UINT64_MAX;  // the first so many examples are normalised
  double gradient_scale = 1;         // gradient += gradient_scale * d(sum)/d theta
};

// `gradient` may be empty.
template <class Real>
LossSum value_and_gradient(const ExactPass<Real>& pass, const Objective& objective, const LossQuery& query,
                           std::span<const Real> theta, std::span<Real> gradient);

}  // namespace selfnorm
