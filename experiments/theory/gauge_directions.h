// Gauge freedom of a general log-linear model [ARJK Def 5, 6], theory.md 1.5. A direction v is free when
// v . T(x,y) = f_v(x) does not depend on y: eta and eta + v are then the same distribution, and A shifts by
// f_v. The free directions are the null space of the differences T(x,y) - T(x,y') within inputs. Hence
//     V*(eta) = inf over equivalent eta of Var A
//             = residual variance of the least-squares regression of A on (1, f(x)),
// f the free features. For the multiclass T = e_k (x) x they are the d features x.
#pragma once

#include <span>
#include <vector>

#include "experiments/theory/feature_table.h"

namespace selfnorm {

// An orthonormal basis of the free directions, each of `features` numbers; empty when there is none. Features
// are brought to one scale first, and directions whose differences are below 1e-9 of the largest count as
// free. Outputs that do not exist do not count.
std::vector<std::vector<double>> free_directions(const FeatureTable& table);

struct GaugeOptimum {
  std::vector<double> eta;  // equivalent: of smallest Var A, and then of smallest |mean A|
  double variance = 0;      // Var A of the eta given
  double v_star = 0;        // Var A of the eta returned
  uint32_t directions = 0;  // that are free
};

GaugeOptimum smallest_variance(const FeatureTable& table, std::span<const double> eta);

}  // namespace selfnorm
