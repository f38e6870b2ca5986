// Forward-backward of one sentence of a CRF, by the recursions of selfnorm/runtime/crf_lattice.h with the
// kernels of math/crf_kernels.h: in Real and scaled, or where its numbers vanish in double and in log space.
// Where few labels matter at a position, the nearest ones,
//     sum_j alpha_{t-1}(j) E(j,k)  ~  sum_{j near} alpha_{t-1}(j) E(j,k) + r Ebar(k)   for every k,
//     near: alpha_{t-1}(j) >= stop,   r = sum_{j far} alpha_{t-1}(j),   Ebar(k) = sum_j w_j E(j,k),
//
// far labels by their usual shares w: L times at most 1 / stop multiplications a position, and no label is
// lost.
//
// What training needs beyond marginals:
//     expected pairs  sum_t p(y_{t-1} = j, y_t = k) = E(j,k) sum_t alpha_{t-1}(j) g_t(k), in log space
//                     p(y_t = k) p(y_{t-1} = j | y_t = k), the last in proportion to exp(a_{t-1}(j) +
//                     v_t(j,k)),
//     entropy         sum_t log c_t - sum_t E[u_t - m_t] - sum_{t>=2} E[v_t - n_t], without the large shifts;
//                     in log space H(y_T) + sum_{t>=2} H(y_{t-1} | y_t).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/crf_kernels.h"
#include "normalizer/crf/crf_scores.h"
#include "selfnorm/runtime/crf_lattice.h"

namespace selfnorm {

// E of one pair matrix and its transpose, rows padded: once for all sentences that share v.
template <class Real>
struct PairFactors {
  LabelSpace space = {};
  double max = 0;                       // n
  std::vector<Real> factor, transpose;  // L x stride

  void assign(const Real* pair, uint32_t labels);
};

// What stands for far labels.
template <class Real>
struct LabelTail {
  double stop = 0;
  std::vector<Real> mean;  // Ebar, stride

  // share: w, of L labels
  LabelTail(const PairFactors<Real>& pairs, std::span<const double> share, double least);
};

// Keeps room between sentences; one for each thread.
template <class Real>
class BasicLattice {
 public:
  using Scores = BasicCrfScores<Real>;

  double forward(const Scores& scores);  // A, 0 for T = 0; throws Error for scores that are not finite
  // The same with the factors of scores.pair; ignored where positions have their own.
  double forward(const Scores& scores, const PairFactors<Real>& shared);
  // a(x) by the nearest labels, A where its numbers vanish. Positions share their pairs.
  double forward_nearest(const Scores& scores, const PairFactors<Real>& shared, const LabelTail<Real>& tail);
  // Of all positions of that; every label where its numbers vanished.
  uint64_t near_labels() const { return near_count_; }
  double forward_in_log_space(const Scores& scores);  // the same A, slowly, for scores of any size
  void backward(const Scores& scores);                // after forward of the same scores
  // After backward.
  std::span<const Real> marginals() const { return marginal_; }  // T x L: p(y_t = k)
  // expected(j,k) += weight sum_{t>=2} p(y_{t-1} = j, y_t = k); own pairs: expected is T x L x L.
  void add_pairs(const Scores& scores, double weight, std::span<double> expected);
  double entropy(const Scores& scores);  // of p(y|x): A - E[s]

  // After forward: log p(y|x), which large scores do not swallow; at most 0.
  double log_prob(const Scores& scores, std::span<const uint32_t> labels) const;
  // After forward: weights(j) in proportion to p(y_t = j | y_{t+1} = next); of p(y_T = j) for t = T-1.
  void prefix_weights(const Scores& scores, uint64_t t, uint32_t next, std::span<double> weights) const;
  // After forward that is not in log space: alpha_t(k) = p(y_t = k) under the scores up to t.
  std::span<const Real> filtered(uint64_t t) const { return {alpha_.data() + t * space_.stride, space_.n}; }
  bool is_in_log_space() const { return state_.is_log; }

 private:
  template <class Self>
  struct Room;  // of selfnorm/runtime/crf_lattice.h: this and a sentence
  struct NearestRoom;

  void reset(const Scores& scores, const PairFactors<Real>* shared);
  const PairFactors<Real>& factors_at(const Scores& scores, uint64_t t);
  template <class Body>
  void each_log_pair(const Scores& scores, uint64_t t, const Body& body) const;
  double log_entropy(const Scores& scores) const;

  LabelSpace space_ = {};
  PairFactors<Real> own_;
  const PairFactors<Real>* shared_ = nullptr;
  runtime::LatticeState state_;
  std::vector<runtime::PositionShift> shift_;
  std::vector<Real> alpha_, unary_, row_, outer_;  // rows padded; unary: e_t, then g_t
  std::vector<Real> marginal_;
  std::vector<uint32_t> near_;  // labels of a position
  uint64_t near_count_ = 0;
  std::vector<double> prefix_, log_marginal_, log_row_, expected_;
};
using Lattice = BasicLattice<float>;

}  // namespace selfnorm
