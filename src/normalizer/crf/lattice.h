// The dynamic program of one sentence of a CRF. Scaled forward-backward [Rabiner 1989]: with
// m_t = max_k u_t(k), n_t = max v_t, e_t(k) = exp(u_t(k) - m_t), E_t(j,k) = exp(v_t(j,k) - n_t),
//     alpha_1(k) = e_1(k) / c_1,   alpha_t(k) = e_t(k) sum_j alpha_{t-1}(j) E_t(j,k) / c_t,
//     c_t so that sum_k alpha_t(k) = 1,   A = sum_t (log c_t + m_t) + sum_{t>=2} n_t,
//     beta_T(k) = 1,   beta_{t-1}(j) = sum_k E_t(j,k) g_t(k),   g_t(k) = e_t(k) beta_t(k) / c_t,
//     p(y_t = k) = alpha_t(k) beta_t(k),   p(y_{t-1} = j, y_t = k) = alpha_{t-1}(j) E_t(j,k) g_t(k).
// No underflow at any length. What the smallest numbers lose has the share (what is lost) beta of all
// labellings: where some alpha is below `narrow`, beta is computed and must stay below `wide`, or the
// sentence goes through log_lattice.h, as it does where c_t vanishes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/crf_kernels.h"
#include "normalizer/crf/crf_scores.h"
#include "normalizer/crf/log_lattice.h"

namespace selfnorm {

// E of one pair matrix and its transpose, rows padded: once for all sentences that share v.
template <class Real>
struct PairFactors {
  LabelSpace space = {};
  double max = 0;                       // n
  std::vector<Real> factor, transpose;  // L x stride

  void assign(const Real* pair, uint32_t labels);
};

// Keeps room between sentences; one for each thread.
template <class Real>
class BasicLattice {
 public:
  using Scores = BasicCrfScores<Real>;

  double forward(const Scores& scores);  // A, 0 for T = 0; throws Error for scores that are not finite
  // The same with the factors of scores.pair; ignored where positions have their own.
  double forward(const Scores& scores, const PairFactors<Real>& shared);
  void backward(const Scores& scores);  // after forward of the same scores
  // After backward.
  std::span<const Real> marginals() const { return marginal_; }  // T x L: p(y_t = k)
  // expected(j,k) += weight sum_{t>=2} p(y_{t-1} = j, y_t = k); own pairs: expected is T x L x L.
  void add_pairs(const Scores& scores, double weight, std::span<double> expected);
  double entropy(const Scores& scores);  // of p(y|x): A - E[s]

  // After forward: log p(y|x) of differences at each position, which large scores do not swallow; at most 0.
  //     sum_t (u_t(y_t) - m_t - log c_t) + sum_{t>=2} (v_t(y_{t-1}, y_t) - n_t)
  double log_prob(const Scores& scores, std::span<const uint32_t> labels) const;
  // After forward: weights(j) in proportion to p(y_t = j | y_{t+1} = next); of p(y_T = j) for t = T-1.
  void prefix_weights(const Scores& scores, uint64_t t, uint32_t next, std::span<double> weights) const;
  bool is_in_log_space() const { return is_log_; }

 private:
  const PairFactors<Real>& factors_at(const Scores& scores, uint64_t t);
  bool scaled_forward(const Scores& scores);  // false: c_t vanishes
  void scaled_backward(const Scores& scores);
  bool is_narrow_ = false, is_log_ = false, has_backward_ = false;

  LabelSpace space_ = {};
  PairFactors<Real> own_;
  const PairFactors<Real>* shared_ = nullptr;
  std::vector<Real> alpha_, beta_, unary_, outer_;  // rows padded; unary: e_t, then g_t
  std::vector<Real> marginal_;
  std::vector<double> scale_, shift_, pair_shift_, expected_;  // c_t; m_t; n_t
  LogLattice<Real> log_;
};
using Lattice = BasicLattice<float>;

}  // namespace selfnorm
