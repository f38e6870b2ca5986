// What is certified of rungs whose errors were measured on the same inputs (theory.md 5): each at the
// confidence 1 - (1 - confidence) / m, so that any of the m may be chosen afterwards.
#pragma once

#include <vector>

#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm {

struct RungErrors {
  runtime::Rung rung;          // name, kind, cost
  std::vector<double> errors;  // A - a, an input each, finite
};

// With rms, eps, rho and conf; eps is infinite where there are too few inputs. rho and confidence in (0, 1).
std::vector<runtime::Rung> certified_together(const std::vector<RungErrors>& measured, double rho,
                                              double confidence);

}  // namespace selfnorm
