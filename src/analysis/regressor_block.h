// A block of inputs through every member of a regressor: what predictions and evaluations start from.
#pragma once

#include <vector>

#include "selfnorm/model/regressor/regressor.h"
#include "selfnorm/normalizer/conditional_quadrature.h"

namespace selfnorm {

// The targets of a block, in the units of the data (data null: none), and those inside the support
// standardised.
struct BlockTargets {
  Points y;
  std::vector<uint32_t> row;  // those inside
  std::vector<float> u;

  BlockTargets(const Regressor& model, const Points& y);
  bool is_given(uint64_t i) const;  // there are targets, and that of row i is no NaN
};

// s(x, y) and b(x) of every row of a block; s is -inf outside the support.
struct TargetScores {
  std::vector<double> s, b;
};
// Throws Error naming the row, the first being first_row, for s that is NaN or +inf and b that is not finite.
TargetScores target_scores(const ConditionalScores& scores, const BlockTargets& targets, uint64_t first_row);

struct MemberBlock {
  std::vector<PredictiveNodes> nodes;
  TargetScores target;
  bool is_normalised = false;

  double log_normalizer(uint64_t i) const { return is_normalised ? 0 : nodes[i].log_normalizer; }
};
// One for every member.
std::vector<MemberBlock> member_blocks(const Regressor& model, const InputRows& x,
                                       const BlockTargets& targets,
                                       const ConditionalQuadratureOptions& quadrature);

}  // namespace selfnorm
