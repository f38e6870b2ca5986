// The price of self-normalisation [ARJK 4], theory.md 2. With l the mean log-likelihood and
//     V_m(theta) = mean_i (A(x_i) - m)^2,      m = log sum_y h(y)  (log K for K classes),
//     theta^       = argmax l,      theta^_delta = argmax l  subject to  V_m <= delta^2,
//     gap(delta)   = l(theta^) - l(theta^_delta)  >= 0, falling in delta.
// The constraint is not convex, so theta^_delta is the best of what is found from theta = 0, from the
// solution of the next smaller delta and from t theta^ (the largest feasible t): it is never worse than the
// path bound (theory.md 2.2), hence than Theorem 2.
//
// The maximum may not exist: on separable data theta^ lies at infinity. A solve then ends when ten iterations
// gain less than `gain` nats; theta^ is where it stopped, l(theta^) is short of its supremum by about `gain`,
// and `separated` says so for data that are fitted with probability one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace selfnorm {

struct LikelihoodGapOptions {
  std::vector<double> deltas = {};  // each > 0, any order
  // Each > 0, any order: optima of l - alpha V_m, which are the constrained ones for delta = their own rms,
  // at the cost of one solve each instead of a search.
  std::vector<double> multipliers = {};
  std::optional<double> centre =
      std::nullopt;                     // m; unset: log sum h, for joint data the mean log size of the groups
  std::vector<float> log_carrier = {};  // multiclass: log h(k); empty means 0
  double l2 = 0;                        // >= 0: both optima are of l - l2/2 |theta|^2 (biases included)
  double gain = 1e-8;                   // > 0: nats per example in ten iterations that end a solve
  uint64_t iterations = 20000;          // at most, of one solve
  int threads = 0;                      // 0 = all cores; the result does not depend on it

  void validate() const;  // throws Error
};

struct LikelihoodOptimum {
  double nll = 0;             // -l, mean, exact
  double rms = 0;             // sqrt(V_m)
  double kl_uniform = 0;      // mean KL(p(.|x) || uniform over the outputs of x)
  double multiplier = 0;      // alpha of the penalised problem l - alpha V_m it solves; 0: not constrained
  bool converged = false;     // the solves ended by themselves, and a binding constraint is tight (to 0.1%)
  std::string reason;         // why the last solve stopped, in words
  std::vector<double> theta;  // (d+1) x K, the biases last (model/multiclass.h); joint: d
};

struct ConstrainedOptimum {
  double delta = 0;
  double gap = 0;  // nll - maximum.nll
  LikelihoodOptimum optimum;
};

struct LikelihoodGap {
  double centre = 0;                            // m
  bool separated = false;                       // nll of the maximum < 1e-4: no finite maximum
  LikelihoodOptimum maximum;                    // of smallest norm among equivalent parameters
  std::vector<ConstrainedOptimum> penalised;    // in the order of options.multipliers; delta is their rms
  std::vector<ConstrainedOptimum> constrained;  // in the order of options.deltas
};

// In double precision. Weights of the examples are used; features are taken as they are. Throws Error for
// unusable data or options, and when no parameters satisfy a constraint (joint data whose groups differ in
// size).
LikelihoodGap likelihood_gap(const Dataset& data, const LikelihoodGapOptions& options);

}  // namespace selfnorm
