// penalty [D]: maximise s - A - alpha (A - c)^2.
//     loss = (A - s) + alpha (A - c)^2
//     d/ds = -1,   d/dA = 1 + 2 alpha (A - c),   d/dc = -2 alpha (A - c).
// `constraint` (theory.md 3) is the same Lagrangian with alpha moved by optim/dual.h until rms(A - c) =
// delta.
#pragma once

#include "objective/objective.h"

namespace selfnorm {

struct ObjectiveEntry;

class Penalty final : public Objective {
 public:
  explicit Penalty(double alpha) : alpha_(alpha) {}
  LossTerms operator()(const ExampleScores& x) const override;

 private:
  double alpha_;
};

// alpha (A - c)^2 alone, of inputs without a target: their normalizers need none.
class LevelPenalty final : public Objective {
 public:
  explicit LevelPenalty(double alpha) : alpha_(alpha) {}
  LossTerms operator()(const ExampleScores& x) const override;

 private:
  double alpha_;
};

// In the registry.
ObjectiveEntry penalty_entry();
ObjectiveEntry constraint_entry();

}  // namespace selfnorm
