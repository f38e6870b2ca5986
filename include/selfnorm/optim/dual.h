// The multiplier of `constraint` (theory.md 3): find alpha >= 0 with rms(alpha) = delta, where rms(alpha) is
// the root mean square of A - c at the optimum of the penalised problem, a decreasing function. Safeguarded
// secant steps on (log alpha, log rms), whose relation is close to a straight line over decades.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace selfnorm {

class DualSearch {
 public:
  // rms must end in [delta (1 - slack), delta].
  DualSearch(double delta, double slack);

  double alpha() const { return alpha_; }
  // Takes rms at the optimum for alpha(); true when done. Otherwise alpha() has moved.
  bool update(double rms);
  // Done with alpha at its smallest value: the constraint costs nothing.
  bool inactive() const { return inactive_; }

  // Done without reaching the band: the constraint is met but not tight, because rms is not known well
  // enough.
  bool loose() const { return loose_; }

  // Starts again from alpha(), for more precise values of rms and a narrower band.
  void refine(double slack);

  // The state as text, for checkpoints.
  std::string save() const;
  void restore(const std::string& text);

 private:
  struct Point {
    double log_alpha, log_rms;
  };

  double delta_, slack_;
  double alpha_;
  bool inactive_ = false;
  bool loose_ = false;
  uint64_t updates_ = 0;
  std::optional<Point> feasible_, infeasible_;  // the closest seen on either side
};

}  // namespace selfnorm
