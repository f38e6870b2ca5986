// A block of inputs through every member of a regressor: what predictions and evaluations start from.
#pragma once

#include <span>
#include <vector>

#include "model/regressor/regressor.h"
#include "normalizer/quadrature/conditional_quadrature.h"

namespace selfnorm {

// Throws Error unless y, row-major in the units of the data, has a target for each of the rows.
void check_targets(const Regressor& model, uint64_t rows, std::span<const double> y);

// The targets of a block, in the units of the data (empty: none), and those that have a score standardised.
struct BlockTargets {
  std::span<const double> y;
  uint32_t dimension;
  std::vector<TargetReach> reach;  // of every row
  std::vector<uint32_t> row;       // those inside
  std::vector<float> u;

  BlockTargets(const Regressor& model, std::span<const double> y);
  bool is_given(uint64_t i) const;  // there are targets, and that of row i is no NaN
};

// s(x, y) and b(x) of every row of a block; s is -inf where the target is far or outside the support.
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
