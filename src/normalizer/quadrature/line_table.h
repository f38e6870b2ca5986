// A measure on a segment of a line from its density at nodes: F, the mass below t, is a cubic between
// neighbouring points with the masses and densities there (Hermite), so f = F' is continuous and quadratic.
// With h the width of a piece, m its mass, f_0 and f_1 the densities at its ends, u in [0, 1],
//     F = F_0 + h f_0 (u - 2 u^2 + u^3) + h f_1 (u^3 - u^2) + m (3 u^2 - 2 u^3),
// monotone because densities are held to at most 3 m / h on both sides [Fritsch & Carlson 1980]. Masses come
// from the polynomial through the densities of a cell (KronrodRule::cumulative), made monotone; in cells that
// are wide for it (its last Legendre coefficients carry more than 1e-4 of mass) from exp of local cubics of
// log f, with more points where f falls fast.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "math/gauss_rule.h"

namespace selfnorm {

struct LinePiece {
  double from, width, mass;
  double first, last;  // f_0, f_1

  double mass_below(double u) const;
  double density(double u) const;
  // u with mass_below(u) = m, 0 <= m <= mass.
  double place_of(double m) const;
  // Where f is largest or smallest inside (0, 1); -1: nowhere.
  double vertex() const;
  // The parts of [0, 1] where f >= level, at most two.
  size_t above(double level, std::span<double, 4> ends) const;
};

struct LineTable {
  std::vector<double> at, density, cumulative;  // ascending; cumulative starts at 0

  // Cells [edge_c, edge_{c+1}] with rule.size() densities each.
  static LineTable of_cells(const KronrodRule& rule, std::span<const double> edge,
                            std::span<const double> densities);
  // Their sum times `factor`, on the union of their points.
  static LineTable sum(std::span<const LineTable> tables, double factor);

  size_t pieces() const { return at.size() - 1; }
  LinePiece piece(size_t i) const;
  size_t piece_at(double t) const;  // t inside [front, back]
  double mass_below(double t) const;
  double density_at(double t) const;  // 0 outside
  double place_of(double mass) const;
  void scale(double mean, double deviation, double factor);  // t -> mean + deviation t, masses times factor

 private:
  void limit_densities();
};

}  // namespace selfnorm
