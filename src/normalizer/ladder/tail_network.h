// The tail of a rung of kind nearest (selfnorm/runtime/ladder_layout.h): t(x, f) with one hidden layer, 0 at
// the start, fitted to exact log-normalizers by Adam: minimises  mean_i (log(near_i + left_i exp t) - A_i)^2,
// whose derivative by t is 2 e_i left exp(t) / (near + left exp(t)), and 0 where t is at its bound. Inputs
// held out choose the epoch, the start included. Same inputs, same seed: the same bits.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "model/ladder.h"
#include "selfnorm/runtime/nearest_sum.h"

namespace selfnorm {

struct TailOptions {
  uint32_t hidden = 64;
  uint64_t epochs = 40;
  uint64_t batch = 64;
  double rate = 0.003;
  double hold_out = 0.15;
  uint64_t seed = 0;
};

// Fills b and extra of the rung and returns the rows that were held out, which chose nothing but the epoch:
// what their errors are, those of new inputs will be. Sparse inputs are not looked at: t is a function of f
// alone.
std::vector<uint64_t> fit_tail(const Features& x, std::span<const runtime::NearestSum> sums,
                               std::span<const double> log_z, const TailOptions& options, LadderRung& rung);

// t(x_i), in double; what the runtime computes.
std::vector<double> tail_values(const LadderRung& rung, const Features& x,
                                std::span<const runtime::NearestSum> sums);

}  // namespace selfnorm
