// The maximum-likelihood estimate of an exponential family and its log Z from what train/family_training.h
// has seen of the data.
#pragma once

#include <string>
#include <vector>

#include "family/density/exponential/exponential_fit.h"
#include "family/density/exponential/family_nodes.h"

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

}  // namespace selfnorm
