// The maximum-likelihood estimate of an exponential family and its log Z from what
// family/density/train/density_trainer.h has seen of the data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "family/density/exponential/exponential_fit.h"

namespace selfnorm {

struct FamilyData {
  StatisticMeans means;
  std::vector<FamilyAxis> axes;  // real supports
};

struct FamilyEstimate {
  std::vector<double> eta;
  double b = 0;                 // log Z of eta rounded to the float32 that the model keeps
  bool is_closed_form = false;  // otherwise by Newton's method
  uint64_t iterations = 0;
  double gradient_size = 0;  // as in ExponentialFit
  std::string reason;        // why it is the end
  std::string problem;       // what the user should know; may be empty
  bool is_exact = true;      // false: nothing of it can be used
};

bool has_family_estimate(const FamilyPlan& plan);
FamilyEstimate family_estimate(const FamilyPlan& plan, const FamilyData& data);  // needs has_family_estimate

// The maximum-likelihood estimate of families where E T = mean T is solved in closed form:
//     gaussian     P = S^-1, eta_x = P mu, eta_x2 = -P_jj / 2, eta_xx = -P_ij, with mu and S of the data
//     exponential  eta = -1 / mean x
//     poisson      eta = log mean x
//     bernoulli    eta = log(m / (1 - m)), m = mean x
//     von-mises-fisher  eta = kappa m / |m|, coth(kappa) - 1 / kappa = |m|, m = mean u
struct MatchedMoments {
  std::vector<double> eta;
  // The likelihood has no maximum: a count or bit that is always the same, a covariance that is singular,
  // directions that are one. Then means are taken 1e-9 inside their range, eigenvalues of the correlations at
  // least 1e-6, and kappa at most 1e7, which 32-bit floats resolve.
  bool is_at_the_edge = false;
};

// Nothing for other families. `mean` is that of the statistics in the order of exponential_family.h.
std::optional<MatchedMoments> matched_moments(const std::string& word, uint32_t dimension,
                                              std::span<const double> mean);

}  // namespace selfnorm
