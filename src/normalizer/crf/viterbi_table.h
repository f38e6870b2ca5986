// delta_1(k) = u_1(k),  delta_t(k) = max_j (delta_{t-1}(j) + v_t(j,k)) + u_t(k), and the first j that has it.
// Sums are taken in the order of crf_score, so they are its bits.
#pragma once

#include <vector>

#include "math/crf_kernels.h"
#include "normalizer/crf/crf_scores.h"

namespace selfnorm {

class ViterbiTable {
 public:
  template <class Real>
  explicit ViterbiTable(const BasicCrfScores<Real>& scores) : labels_(scores.labels) {
    check_scores(scores);
    delta_.resize(scores.length * labels_);
    from_.resize(scores.length * labels_);
    for (uint64_t t = 0; t < scores.length; ++t) {
      double* delta = delta_.data() + t * labels_;
      if (t > 0) max_plus(delta - labels_, scores.pair_at(t), labels_, delta, from_.data() + t * labels_);
      for (uint64_t k = 0; k < labels_; ++k) delta[k] += static_cast<double>(scores.unary_at(t)[k]);
    }
  }

  const double* delta(uint64_t t) const { return delta_.data() + t * labels_; }
  const uint64_t* from(uint64_t t) const { return from_.data() + t * labels_; }

 private:
  uint64_t labels_;
  std::vector<double> delta_;
  std::vector<uint64_t> from_;
};

}  // namespace selfnorm
