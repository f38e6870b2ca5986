// The path from a density q to an energy s through unnormalised log-densities
//     l_beta(x) = (1 - beta) log q(x) + beta s(x) = start(x) + beta weight(x),
//     start = log q,   weight = s - log q,   0 <= beta <= 1,
// restricted to the points that the energy allows, exp s(x) > 0, at every beta.
// The weight is that of importance sampling. Where the energy tilts q itself, s = f + log q, the weight is f:
// log q cancels. Without q the path is beta s, and at beta = 1 the energy alone.
#pragma once

#include <span>
#include <vector>

#include "model/energy/energy.h"
#include "proposal/density/density.h"

namespace selfnorm {

// Of n points; gradients row-major n x d, `start_gradient` empty without q.
struct PathValues {
  std::vector<double> start, weight, start_gradient, weight_gradient;

  double at(double beta, size_t i) const { return start[i] + beta * weight[i]; }
};

// Whether q is over all points of the support of the energy.
bool is_covered(const Energy& energy, const Density& q);

class AnnealingPath {
 public:
  explicit AnnealingPath(const Energy& energy);
  // Throws Error unless both have the same dimension and q covers the support of the energy.
  AnnealingPath(const Energy& energy, const Density& start);

  uint32_t dimension() const { return energy_.dimension(); }
  const Support& support() const { return support_; }  // of the energy

  // weight(x_i) alone, for draws of q; -inf outside the support of the energy. `log_q` as sample_density
  // gives it, or empty when needs_log_q() is false.
  bool needs_log_q() const { return start_ != nullptr && tilt_ == nullptr; }
  void weights(const Points& x, std::span<const double> log_q, std::span<double> weight) const;

  // start and weight; (-inf, 0) where q, the support or the score forbids x.
  void evaluate(const Points& x, PathValues& out) const;
  // Real supports: the gradients too.
  void evaluate_gradient(const Points& x, PathValues& out) const;

 private:
  void forbid(const Points& x, PathValues& out) const;

  const Energy& energy_;
  const Density* start_ = nullptr;
  const Energy* tilt_ = nullptr;  // f, when the energy tilts *start_
  Support support_;
  bool is_bounded_ = false;  // points have to be compared with the support
};

}  // namespace selfnorm
