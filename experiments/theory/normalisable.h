// Exact and approximate self-normalisation [ARJK 3], theory.md 0, 1.1, 1.2. A model is self-normalised on its
// inputs when A(x) = 0 for all of them, and delta-approximately when E[A(X)^2] < delta^2.
#pragma once

#include <span>
#include <vector>

#include "experiments/theory/feature_table.h"

namespace selfnorm {

// Of A(x) over the inputs.
struct NormalizerMoments {
  double mean = 0;
  double variance = 0;
  double rms = 0;  // sqrt(E[A^2])
  double mean_absolute = 0;
  double largest = 0;  // max |A|
};

NormalizerMoments normalizer_moments(std::span<const double> log_normalizers);
NormalizerMoments normalizer_moments(const FeatureTable& table, std::span<const double> eta);

// max |A(x)| <= tolerance; the default is rounding alone.
bool is_normalised(const FeatureTable& table, std::span<const double> eta, double tolerance = 1e-12);
// E[A^2] < delta^2, delta > 0.
bool is_approximately_normalised(const FeatureTable& table, std::span<const double> eta, double delta);

struct NormalisationExample {
  FeatureTable table;
  std::vector<double> eta;  // A(x) = 0 on all inputs
};

// theory.md 1.1: Y = {-1,1}, T = (x y, 1), x in {log 2, -log 2}, eta = (1, log(2/5)).
NormalisationExample normalisable_example();
// theory.md 1.2: Y = {-1,1}, X = {(1,0), (0,1), (1,1)}, T = (x1 y, x2 y, 1). Here
//     A(x) = eta3 + log(2 cosh(eta1 x1 + eta2 x2))
// is constant iff eta1 = eta2 = 0, so eta = (0, 0, -log 2), the uniform model, is the only self-normalised
// one.
NormalisationExample only_uniform_example();

}  // namespace selfnorm
