// q(k) = (n_k + 1)^beta / sum_j (n_j + 1)^beta with n_k how often class k was seen: beta = 1 follows the
// data, 0 is uniform, 0.75 is the classic choice in between (Mikolov et al. 2013). The added 1 keeps q > 0
// for classes never seen.
//
// Walker's alias table (Vose 1991): K columns of equal mass 1/K, each split between its own class and at most
// one other, so a draw is one column and one comparison.
#pragma once

#include <vector>

#include "selfnorm/proposal/proposal.h"

namespace selfnorm {

class Unigram final : public Proposal {
 public:
  // beta in [0, 1].
  Unigram(std::span<const uint64_t> counts, double beta);

  uint32_t classes() const override { return static_cast<uint32_t>(column_.size()); }
  uint32_t sample(RandomStream& random) const override;
  double log_prob(uint32_t k) const override { return log_prob_[k]; }

 private:
  struct Column {
    double own = 1;  // share of the column that belongs to its own class
    uint32_t other = 0;
  };

  std::vector<Column> column_;
  std::vector<double> log_prob_;
};

}  // namespace selfnorm
