// Candidate objectives never see a log-normalizer: they compare the target with k noise classes y_j ~ q, so
// an example costs k + 1 scores for any number of classes. Like every objective they are pure functions:
// scores, log q and b go in; the loss (to be minimised) and its derivatives come out. All work in log space.
//
// Accidental hits (y_j equal to the target): the samples are independent draws from all of q, and each of the
// four formulas is stated for such draws. nce: noise may look like data, that is what log k q(y) accounts
// for. ranking-nce: the data's place among k + 1 draws is what is guessed, and equal classes are ties. There
// a hit stays, and the target's class receives the derivatives of both roles; taking hits out would move the
// optimum. is, snl: Z_hat is unbiased only when every class is accounted for; the target's term of Z is
// known, so it is added and the hits are left out (below). The same holds for samples that are
// shared by the examples of a minibatch: each example sees k independent draws. In-batch noise, too, is
// B - 1 independent draws, from the distribution q(y) = n_y / n of the targets themselves, because a shuffled
// minibatch is a random sample of the data (but for the n_y - 1 of n - 1 that drawing without replacement
// leaves): an example's own target is left out by its place, being no draw, and the equal target of another
// example is a hit like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace selfnorm {

// Importance sampling of Z = sum_y exp s(y) from y_1 .. y_k ~ q:
//     Z_hat = (1/k) sum_j exp(s_j - log q_j),     E Z_hat = Z,
//     share_j = exp(s_j - log q_j) / sum_i exp(s_i - log q_i) = d log Z_hat / d s_j,
//     effective = (sum w)^2 / sum w^2 = 1 / sum_j share_j^2, from 1 (one weight rules) to k (all are equal).
//
// When the target y is known, so is its term of Z: the samples that hit it are left out and the term is
// added,
//     Z_hat = exp(s_y) + (1/k) sum over j with y_j != y of exp(s_j - log q_j),
// which has the same mean and a far smaller variance where y is likely, and cannot be too small for y to be
// likely: log Z_hat >= s_y.
struct ImportanceEstimate {
  double log_z = 0;         // log Z_hat
  double effective = 0;     // number of samples; 0 when all of them hit the target
  double target_share = 0;  // exp(s_y) / Z_hat = d log Z_hat / d s_y; 0 when the target is not known
};

struct KnownTarget {
  double score = 0;              // s_y
  std::span<const uint8_t> hit;  // for every sample whether it is y; empty: the target is not known
};

// One score and one log q per sample, at least one; `share` is overwritten.
ImportanceEstimate importance_weights(std::span<const double> score, std::span<const double> log_q,
                                      const KnownTarget& target, std::span<double> share);

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
  std::optional<ImportanceEstimate> estimate = {};  // of log Z, by the objectives that make one
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
