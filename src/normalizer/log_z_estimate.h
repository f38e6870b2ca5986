// log Z of an energy by some method, with its error. Four methods give four different numbers; each says
// which it is (theory.md 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

struct LogZEstimate {
  std::string method;  // quadrature | enumeration | importance | annealed | bridge | closed-form
  double value = 0;
  double low = 0, high = 0;  // importance, bridge: a 95% interval; annealed: forward and reverse bracket with
                             // their errors; quadrature: the error estimate; enumeration, closed-form: value
  double effective = 0;      // importance, annealed: effective samples; otherwise the evaluations
  uint64_t evaluations = 0;
  double tail = 0;  // importance: shape of the tail of the weights; not to be trusted above 0.5
                    // (ParetoTail)
  std::optional<LogSumExp> total = {};  // enumeration: of every score

  // s - log Z, where there is a total without the rounding of value
  double log_prob(double s) const { return total ? total->log_share(s) : s - value; }
};

}  // namespace selfnorm
