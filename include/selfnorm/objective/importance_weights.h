// Importance sampling of Z = sum_y exp s(y) from y_1 .. y_k ~ q:
//     Z_hat = (1/k) sum_j exp(s_j - log q_j),     E Z_hat = Z,
//     share_j = exp(s_j - log q_j) / sum_i exp(s_i - log q_i) = d log Z_hat / d s_j,
//     effective = (sum w)^2 / sum w^2 = 1 / sum_j share_j^2, from 1 (one weight rules) to k (all are equal).
#pragma once

#include <span>

namespace selfnorm {

struct ImportanceEstimate {
  double log_z = 0;      // log Z_hat
  double effective = 0;  // number of samples
};

// One score and one log q per sample, at least one; `share` is overwritten.
ImportanceEstimate importance_weights(std::span<const double> score, std::span<const double> log_q,
                                      std::span<double> share);

}  // namespace selfnorm
