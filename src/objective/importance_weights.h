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
#pragma once

#include <cstdint>
#include <span>

namespace selfnorm {

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

}  // namespace selfnorm
