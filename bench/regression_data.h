// What the benchmarks of regressors are trained on: eight standard normal columns and
//     y = sin 2 x_0 + x_1 x_2 / 2 +- 0.8 [x_3 > 0] + 0.3 exp(x_4 / 2) e,
// either sign with probability 1/2: modes, interactions and noise that depend on x.
#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "math/random.h"

namespace bench {

inline constexpr uint64_t kRegressionInputs = 8;

// Columns x0 .. x7 and y.
inline selfnorm::Frame regression_frame(uint64_t rows, uint64_t seed) {
  selfnorm::Frame out{.file = "synthetic", .rows = rows};
  for (uint64_t j = 0; j < kRegressionInputs; ++j)
    out.columns.push_back({.name = "x" + std::to_string(j), .number = std::vector<double>(rows)});
  out.columns.push_back({.name = "y", .number = std::vector<double>(rows)});
  selfnorm::RandomStream random(seed);
  for (uint64_t i = 0; i < rows; ++i) {
    const auto x = [&](uint64_t j) -> double& { return out.columns[j].number[i]; };
    for (uint64_t j = 0; j < kRegressionInputs; ++j) x(j) = random.normal();
    const double step = x(3) > 0 ? (random.uniform() < 0.5 ? 0.8 : -0.8) : 0.0;
    x(kRegressionInputs) =
        std::sin(2 * x(0)) + x(1) * x(2) / 2 + step + 0.3 * std::exp(x(4) / 2) * random.normal();
  }
  out.line.resize(rows);
  std::iota(out.line.begin(), out.line.end(), uint64_t{1});
  return out;
}

inline std::vector<uint64_t> all_rows(const selfnorm::Frame& frame) {
  std::vector<uint64_t> out(frame.rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

}  // namespace bench
