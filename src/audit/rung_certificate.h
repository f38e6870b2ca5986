// What is certified of rungs whose errors were measured on the same inputs (theory.md 5): each at the
// confidence 1 - (1 - confidence) / m, so that any of the m may be chosen afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm {

// The smallest error that can be certified from those of n inputs (not below 0): with the confidence, all but
// a share rho of inputs are within it, and within those of the other rungs that were measured on the same
// inputs. Infinite when n is too small.
double certified_error(std::vector<double> sizes, double rho, double confidence, size_t rungs);

// How many inputs certify any error at all of so many rungs: with none beyond it, (1 - rho)^n <= (1 -
// confidence) / m.
uint64_t inputs_needed(double rho, double confidence, size_t rungs);

// How many of n inputs rungs are fitted to: 45%, and fewer, though not below `fewest`, where the others would
// be less than `needed`. By their number alone, so that the others are as good as new. (Rungs fitted to all
// of them are not certified by what folds left out: docs/decisions/0015-ladder.md.)
uint64_t fitted_of(uint64_t n, uint64_t needed, uint64_t fewest);

struct RungErrors {
  runtime::Rung rung;          // name, kind, cost
  std::vector<double> errors;  // A - a, an input each, finite
};

// With rms, eps, rho and conf; eps is infinite where there are too few inputs. rho and confidence in (0, 1).
std::vector<runtime::Rung> certified_together(const std::vector<RungErrors>& measured, double rho,
                                              double confidence);

// Whether the certificate of a rung still holds: on inputs of today, how many errors are beyond what was
// certified. It is in doubt when that many would be seen with a probability below 1 - confidence if it held.
struct RungDrift : runtime::Rung {
  uint64_t inputs = 0, exceeded = 0;  // |A - a| > eps
  double rho_least = 0;  // with the confidence of the certificate at least this share of inputs exceeds eps

  bool has_drifted() const { return rho_least > rho; }
};
// Of the rungs that have a certificate, without counts.
std::vector<RungDrift> certified_rungs(const std::vector<runtime::Rung>& rungs);
// rho_least of all of them together, by Clopper and Pearson.
void judge_drift(std::vector<RungDrift>& rungs);

}  // namespace selfnorm
