// log softmax: a_k - log sum_j exp(a_j).
#pragma once

#include <span>
#include <vector>

#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

inline std::vector<double> log_shares(std::span<const double> logit) {
  LogSumExp total;
  for (const double a : logit) total.add(a);
  std::vector<double> out;
  for (const double a : logit) out.push_back(a - total.value());
  return out;
}

}  // namespace selfnorm
