// An objective is a pure function of numbers: the target's score s, the log-normalizer A and the centre c go
// in; the terms of the loss (to be minimised) and their derivatives come out. It knows no model, no learning
// rate, no data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

namespace selfnorm {

struct ExampleScores {
  double score = 0;        // s(x, y)
  double log_z = 0;        // A(x); meaningful only when `normalised`
  double centre = 0;       // c
  double fraction = 1;     // of the examples that were normalised in this batch
  bool normalised = true;  // whether A was computed for this example
};

// loss = likelihood + penalty, kept apart; derivatives are of their sum.
struct LossTerms {
  double likelihood = 0;  // minus the objective's likelihood term
  double penalty = 0;
  double d_score = 0;
  double d_log_z = 0;
  double d_centre = 0;
};

class Objective {
 public:
  virtual ~Objective() = default;
  virtual LossTerms operator()(const ExampleScores& x) const = 0;

  // The share of every batch whose log-normalizers are needed.
  virtual double normalised_fraction() const { return 1; }
  // How many of the first examples of a batch that is: the share of them, rounded, and at least one unless it
  // is 0.
  uint64_t normalised(uint64_t examples) const {
    const double wanted = normalised_fraction() * static_cast<double>(examples);
    return wanted > 0 ? std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(wanted))) : 0;
  }
};

}  // namespace selfnorm
