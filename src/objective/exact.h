// exact: maximise s - A, the log-likelihood.
//     loss = A - s,   d/ds = -1,   d/dA = 1.
#pragma once

#include "objective/objective.h"

namespace selfnorm {

struct ObjectiveEntry;

class Exact final : public Objective {
 public:
  LossTerms operator()(const ExampleScores& x) const override;
};

// In the registry.
ObjectiveEntry exact_entry();

}  // namespace selfnorm
