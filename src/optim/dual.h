// The multiplier of `constraint` (theory.md 3): find alpha >= 0 with rms(alpha) = delta, where rms(alpha) is
// the root mean square of A - c at the optimum of the penalised problem, a decreasing function. Safeguarded
// secant steps on (log alpha, log rms), whose relation is close to a straight line over decades.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace selfnorm {

enum class DualStep {
  again,      // solve for the new alpha()
  met,        // rms is in [delta (1 - slack), delta]
  inactive,   // alpha() = 0 and rms <= delta: the constraint costs nothing
  bracketed,  // no better alpha can be told from the values of rms: solutions on both sides are as close as
              // they get
};

class DualSearch {
 public:
  DualSearch(double delta, double slack, uint64_t most_updates);

  double alpha() const { return alpha_; }
  // Takes rms at the optimum for alpha().
  DualStep update(double rms);

  // Starts again from alpha(), for more precise values of rms and a narrower band.
  void refine(double slack, uint64_t most_updates);

  // The state as text, for checkpoints.
  std::string save() const;
  void restore(const std::string& text);

 private:
  struct Point {
    double log_alpha, log_rms;
  };

  double delta_, slack_;
  uint64_t most_updates_;
  uint64_t updates_ = 0;
  double alpha_;
  std::optional<Point> feasible_, infeasible_;  // the latest seen on either side
};

}  // namespace selfnorm
