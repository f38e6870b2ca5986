// Small random feature tables for tests.
#pragma once

#include <cmath>
#include <vector>

#include "experiments/theory/feature_table.h"
#include "math/random.h"

namespace selfnorm {

// Standard normal features.
inline FeatureTable random_table(uint64_t inputs, uint32_t outputs, uint32_t features, RandomStream& random) {
  FeatureTable table{inputs, outputs, features, std::vector<double>(inputs * outputs * features), {}};
  for (double& v : table.values) v = random.normal();
  return table;
}

// As above with 1 .. 8 inputs, 2 .. 5 outputs, 1 .. 6 features; every other one with a random carrier.
inline FeatureTable random_table(RandomStream& random) {
  FeatureTable table = random_table(1 + random.below(8), static_cast<uint32_t>(2 + random.below(4)),
                                    static_cast<uint32_t>(1 + random.below(6)), random);
  if (random.below(2) == 0) {
    for (uint32_t y = 0; y < table.outputs; ++y) table.log_carrier.push_back(random.normal());
  }
  return table;
}

inline std::vector<double> random_eta(uint32_t features, double scale, RandomStream& random) {
  std::vector<double> eta(features);
  for (double& v : eta) v = scale * random.normal();
  return eta;
}

inline double norm_of(const std::vector<double>& eta) {
  double square = 0;
  for (const double v : eta) square += v * v;
  return std::sqrt(square);
}

}  // namespace selfnorm
