// The integrals on lines of an autoregressive energy (model/energy/autoregressive_energy.h), one for every
// column given those before it, by conditional_quadrature.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/energy/autoregressive_energy.h"

namespace selfnorm {

// R(x) = sum_i A_i(x_<i) - b_i(x_<i) of every row, its error, the sum of those of A_i, and what SNL takes in
// its place, sum_i exp(A_i - b_i) - 1 >= R. `precision` is the target of the error. Throws Error naming the
// row where an integral is none.
struct LineSum {
  std::vector<double> value, error, bound;
};
LineSum line_sum(const AutoregressiveEnergy& energy, const Points& x, double precision);

// Fills `rows` with draws: column after column the inverse of its distribution function given those before
// it, at uniform numbers of row and column.
void sample_lines(const AutoregressiveEnergy& energy, uint64_t seed, std::span<float> rows);

}  // namespace selfnorm
