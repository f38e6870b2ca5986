// Zipf's law without counting: q(k) = log((r+2)/(r+1)) / log(K+1), r = 0 .. K-1 the rank of class k by how
// often it was seen, the most frequent first and equals by their index. Drawn by inversion:
// r = floor((K+1)^u) - 1 for u uniform on [0, 1).
#pragma once

#include <vector>

#include "selfnorm/proposal/proposal.h"

namespace selfnorm {

class LogUniform final : public Proposal {
 public:
  explicit LogUniform(std::span<const uint64_t> counts);

  uint32_t classes() const override { return static_cast<uint32_t>(rank_.size()); }
  uint32_t sample(RandomStream& random) const override;
  double log_prob(uint32_t k) const override;

 private:
  std::vector<uint32_t> rank_;      // of a class
  std::vector<uint32_t> class_of_;  // of a rank
  double log_range_;                // log(K + 1)
};

}  // namespace selfnorm
