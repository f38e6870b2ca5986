// Closeness to a normalisable set [ARJK Def 4, Prop 1], theory.md 1.4. For a set S of inputs on which A = 0,
//     dist(x) = inf over x* in S of sup_y |T(x,y) - T(x*,y)|,
// and because A is |eta|-Lipschitz in T (its gradient is a mean of T under p),
//     E|A| <= |eta| E[dist]      and      sqrt(E[A^2]) <= |eta| sqrt(E[dist^2]).
// The print mixes the second moment of A with the first of dist; these are the two statements that hold.
#pragma once

#include <span>
#include <vector>

#include "experiments/theory/feature_table.h"

namespace selfnorm {

// dist(x) for every input of `table`; the supremum is over the outputs that exist. The inputs of `normalised`
// are S: same outputs, same features.
std::vector<double> distances(const FeatureTable& table, const FeatureTable& normalised);

struct Closeness {
  double first_moment = 0;        // E[dist]
  double root_second_moment = 0;  // sqrt(E[dist^2])
};

Closeness closeness(std::span<const double> distances);

// Bounds of E|A| and of sqrt(E[A^2]).
double mean_absolute_bound(const Closeness& closeness, double eta_norm);
double rms_bound(const Closeness& closeness, double eta_norm);

}  // namespace selfnorm
