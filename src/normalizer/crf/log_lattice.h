// The dynamic program of a CRF in log space and double precision, for scores whose exponentials vanish:
//     a_1(k) = u_1(k),   a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v_t(j,k)),   A = log sum_k exp a_T(k),
//     b_T(k) = 0,        b_t(j) = log sum_k exp(v_{t+1}(j,k) + u_{t+1}(k) + b_{t+1}(k)),
//     p(y_t = k) in proportion to exp(a_t(k) + b_t(k)),
//     p(y_{t-1} = j, y_t = k) = p(y_t = k) p(y_{t-1} = j | y_t = k), the last to exp(a_{t-1}(j) + v_t(j,k)),
// where the largest a_t(k) and the largest u_t(k) + b_t(k) are taken off at every t: they would swallow
// differences.
#pragma once

#include <span>
#include <vector>

#include "normalizer/crf/crf_scores.h"

namespace selfnorm {

template <class Real>
class LogLattice {
 public:
  double forward(const BasicCrfScores<Real>& scores);  // A
  void backward(const BasicCrfScores<Real>& scores);   // after forward

  // After forward: log p(y|x) = log p(y_T) + sum_{t>=2} log p(y_{t-1} | y_t)
  double log_prob(const BasicCrfScores<Real>& scores, std::span<const uint32_t> labels) const;

  // After backward.
  double marginal(uint64_t t, uint32_t k) const;
  void add_pairs(const BasicCrfScores<Real>& scores, double weight, std::span<double> expected) const;
  // H(y_T) + sum_{t>=2} H(y_{t-1} | y_t)
  double entropy(const BasicCrfScores<Real>& scores) const;
  const double* prefix(uint64_t t) const { return a_.data() + t * labels_; }  // a_t less its largest

 private:
  template <class Body>
  void each_pair(const BasicCrfScores<Real>& scores, uint64_t t, const Body& body) const;

  uint64_t labels_ = 0, length_ = 0;
  std::vector<double> a_, marginal_, terms_;
};

}  // namespace selfnorm
