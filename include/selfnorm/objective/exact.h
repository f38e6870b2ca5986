// exact: maximise s - A, the log-likelihood.
//     loss = A - s,   d/ds = -1,   d/dA = 1.
#pragma once

#include "selfnorm/objective/objective.h"

namespace selfnorm {

class Exact final : public Objective {
 public:
  LossTerms operator()(const ExampleScores& x) const override;
};

}  // namespace selfnorm
