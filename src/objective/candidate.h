// Candidate objectives never see a log-normalizer: they compare the target with k noise classes y_j ~ q, so
// an example costs k + 1 scores for any number of classes. Like every objective they are pure functions:
// scores, log q and b go in; the loss (to be minimised) and its derivatives come out. All work in log space.
//
// Accidental hits (y_j equal to the target): the samples are independent draws from all of q, and each of the
// four formulas is stated for such draws. nce: noise may look like data, that is what log k q(y) accounts
// for. ranking-nce: the data's place among k + 1 draws is what is guessed, and equal classes are ties. There
// a hit stays, and the target's class receives the derivatives of both roles; taking hits out would move the
// optimum. is, snl: Z_hat is unbiased only when every class is accounted for; the target's term of Z is
// known, so it is added and the hits are left out (importance_weights.h). The same holds for samples that are
// shared by the examples of a minibatch: each example sees k independent draws. In-batch noise, too, is
// B - 1 independent draws, from the distribution q(y) = n_y / n of the targets themselves, because a shuffled
// minibatch is a random sample of the data (but for the n_y - 1 of n - 1 that drawing without replacement
// leaves): an example's own target is left out by its place, being no draw, and the equal target of another
// example is a hit like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "objective/importance_weights.h"

namespace selfnorm {

struct CandidateScores {
  double score = 0;  // s(x, y)
  double log_q = 0;  // log q(y)
  std::span<const double> sample_score;
  std::span<const double> sample_log_q;      // one per sample score; at least one
  std::span<const uint8_t> sample_hit = {};  // is, snl: whether a sample is the target; empty: not known
  double log_normalizer = 0;                 // b
};

struct CandidateTerms {
  double likelihood = 0;  // minus the objective
  double d_score = 0;
  double d_log_normalizer = 0;
  std::optional<ImportanceEstimate> estimate;  // of log Z, by the objectives that make one
};

// n targets against the same k samples whose scores do not depend on the target: densities, where the score
// of a sample is s(y_j) for every example.
struct PooledScores {
  std::span<const double> score;  // n
  std::span<const double> log_q;
  std::span<const double> sample_score;  // k
  std::span<const double> sample_log_q;
  double log_normalizer = 0;  // b
};

class CandidateObjective {
 public:
  virtual ~CandidateObjective() = default;

  // d_sample has one derivative per sample score, overwritten.
  virtual CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const = 0;

  // The mean of operator() over the n targets, and its derivatives with respect to each score, in O(n + k);
  // d_score of the result is not used.
  virtual CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                                std::span<double> d_sample) const = 0;
};

}  // namespace selfnorm
