// The dynamic program of one sentence of a chain. Scores u (T x L) and v (L x L shared by all positions, or T
// x L x L, of which position 0 is not used). Scaled forward-backward [Rabiner 1989]: with m_t = max_k u_t(k),
//     alpha_1(k) = exp(u_1(k) - m_1) / c_1,   alpha_t(k) = exp(u_t(k) - m_t) sum_j alpha_{t-1}(j) E_t(j,k) /
//     c_t, E_t(j,k) = exp(v_t(j,k) - n_t),  n_t = max v_t,   c_t so that sum_k alpha_t(k) = 1, A = sum_t (log
//     c_t + m_t) + sum_{t>=2} n_t, beta_T(k) = 1,   beta_t(j) = sum_k E_{t+1}(j,k) exp(u_{t+1}(k) - m_{t+1})
//     beta_{t+1}(k) / c_{t+1}, p(y_t = k) = alpha_t(k) beta_t(k), p(y_{t-1} = j, y_t = k) = alpha_{t-1}(j)
//     E_t(j,k) exp(u_t(k) - m_t) beta_t(k) / c_t.
// No underflow at any length; a position where exp(u - m) exp(v - n) vanishes for all pairs is computed in
// log space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

struct ChainScores {
  uint32_t labels = 0;
  uint64_t length = 0;
  std::span<const float> unary;  // T x L
  std::span<const float> pair;   // L x L, or T x L x L (has_own_pairs)
  bool has_own_pairs = false;

  const float* pair_at(uint64_t t) const { return pair.data() + (has_own_pairs ? t * labels * labels : 0); }
};

// sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t)
double chain_score(const ChainScores& scores, std::span<const uint32_t> labels);

// Keeps room between sentences; one for each thread.
class Lattice {
 public:
  double forward(const ChainScores& scores);  // A; throws Error for scores that are not finite
  void backward(const ChainScores& scores);   // after forward of the same scores
  // After backward.
  std::span<const float> marginals() const;  // T x L: p(y_t = k)
  // expected(j,k) += weight sum_{t>=2} p(y_{t-1} = j, y_t = k); own pairs: expected is T x L x L.
  void add_pairs(const ChainScores& scores, double weight, std::span<double> expected) const;
  double entropy(const ChainScores& scores) const;  // of p(y|x): A - E[s]

 private:
  std::vector<float> alpha_, beta_, unary_, pair_, marginal_;
  std::vector<double> scale_;
};

}  // namespace selfnorm
