// Which natural parameters eta of s(x) = eta . T(x) can be normalised. On a box with finite sides (or
// finitely many points) all of them; on infinite sides the growth of s is ruled by the leading statistic
// there is:
//     x4        every coefficient < 0
//     x3        half lines only: every coefficient < 0 (lower side finite) or > 0
//     x2 (xx)   the precision matrix P, s = -x'Px/2 + ..., is positive definite
//     abs       coefficient + |coefficient of x| < 0
//     x         half lines only: coefficient < 0 (lower side finite) or > 0
// These are sufficient, and necessary but for boundary cases and half lines with xx. log needs x >= 0, and a
// coefficient above -1 where the lower side is 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "model/energy/statistic.h"

namespace selfnorm {

class NaturalDomain {
 public:
  // Throws Error when no eta at all can be normalised.
  NaturalDomain(std::vector<Statistic> statistics, const Support& support, uint32_t dimension);

  // A valid eta: -1/4 for x4, -1/2 for x2, -1 for abs or x where they lead, otherwise 0.
  std::vector<double> start() const;
  // "" when eta is valid; otherwise what is wrong with it.
  std::string violation(std::span<const double> eta) const;
  // Moves eta into the domain: leading coefficients to 1e-9 (relative: 1e-6) inside, eigenvalues of P to at
  // least 1e-6 of the largest. Valid eta stay as they are; NaN stay NaN.
  void project(std::span<double> eta) const;

 private:
  enum class Leader { none, x4, x3, x2, abs, x };

  bool has(Statistic::Kind kind) const;
  bool is_valid_precision(std::span<const double> eta) const;
  void project_precision(std::span<double> eta) const;
  // The half space sign * eta_k + |eta_partner| < bound.
  struct Bound {
    size_t k = 0, partner = 0;  // partner = k: none
    double sign = 1, bound = 0;
  };
  double excess(const Bound& b, std::span<const double> eta) const;

  std::vector<Statistic> statistics_;
  uint32_t dimension_ = 0;
  Leader leader_ = Leader::none;
  std::vector<Bound> bounds_;
};

// P of s = -x'Px/2 + ...: P_ii = -2 eta(x2_i), P_ij = -eta(xx_ij); row-major d x d.
std::vector<double> precision_matrix(std::span<const Statistic> statistics, std::span<const double> eta,
                                     uint32_t dimension);

}  // namespace selfnorm
