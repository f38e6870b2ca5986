// Synthetic data with a known truth (theory.md 2.4).
#pragma once

#include <cstdint>
#include <vector>

#include "selfnorm/data/dataset.h"

namespace selfnorm {

// x_1 = 1; x_j ~ Bernoulli(density) for j = 2 .. features; eta_kj ~ N(0, 1);  y ~ softmax(temperature * eta
// x).
struct GenerateOptions {
  uint64_t rows = 500;       // >= 1
  uint32_t features = 100;   // >= 1
  uint32_t classes = 10;     // >= 2
  double density = 0.03;     // 0 .. 1
  double temperature = 1.0;  // finite, >= 0: multiplies the scores
  uint64_t seed = 1;

  void validate() const;  // throws Error
};

struct GeneratedData {
  Dataset data;              // labels "0" .. "K-1", all K of them even when a class has no row
  std::vector<float> truth;  // temperature * eta, row-major classes x features: p(y|x) = softmax(truth x)
};

// The same options give the same bits for any number of threads.
GeneratedData generate(const GenerateOptions& options);

}  // namespace selfnorm
