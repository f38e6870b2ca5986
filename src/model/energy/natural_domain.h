// Which natural parameters eta of s(x) = eta . T(x) can be normalised. On a box with finite sides (or
// finitely many points) all of them; on infinite sides the leading statistic rules:
//     x4        every coefficient < 0
//     x3        half lines only: every coefficient < 0 (lower side finite) or > 0
//     x2 (xx)   the precision matrix P, s = -x'Px/2 + ..., is positive definite
//     abs       coefficient + |coefficient of x| < 0
//     x         half lines only: coefficient < 0 (lower side finite) or > 0
// These are sufficient, and necessary but for boundary cases and half lines with xx. log needs x >= 0, and a
// coefficient above -1 where the lower side is 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

// t -> T(x + t v) at t = 0.
struct StatisticJet {
  double value = 0, first = 0, second = 0;
};

// A sufficient statistic of a point: a function of one coordinate, the product of two, products of cosines
// and sines of two (cs: cos x_i sin x_j), or, of a point of the sphere (data/points/direction_map.h), an
// entry of its unit vector or the product of two of them.
struct Statistic {
  enum class Kind { x, x2, x3, x4, abs, log, cos, sin, xx, cc, cs, sc, ss, u, uu };

  Kind kind = Kind::x;
  uint32_t i = 0, j = 0;  // coordinates, of u and uu entries; j: of products only, i < j, of uu i <= j

  bool is_of_sphere() const { return kind == Kind::u || kind == Kind::uu; }
  bool is_of_one() const { return kind < Kind::xx; }

  // log is that of max(x, the smallest normal float): finite on x >= 0.
  double value(const float* x) const;
  // First and second derivative along v; those of abs at 0 are 0.
  StatisticJet along(const float* x, const float* v) const;
  // dx += d dT/dx.
  void add_gradient(const float* x, double d, double* dx) const;
};

// x, x2, x3, x4, abs, log, cos, sin, xx, cc, cs, sc, ss, u, uu
const std::vector<std::string>& statistic_names();
// One statistic a coordinate (products: a pair i < j, by i, then j; u: 3; uu: 00, 11, 01, 02, 12, for the
// squares sum to 1). Throws Error for a name that is none, and for u and uu of points that are not on the
// sphere.
std::vector<Statistic> make_statistics(const std::string& name, uint32_t dimension);

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
