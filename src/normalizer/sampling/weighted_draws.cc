#include "normalizer/sampling/weighted_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostRows = 16384;
constexpr uint64_t kValues = uint64_t{1} << 22;  // of a block of wide rows

}  // namespace

WeightedDraws::WeightedDraws(const Energy& energy, const Density& proposal, uint64_t count, uint64_t seed)
    : path_(energy, proposal),
      proposal_(proposal),
      count_(count),
      seed_(seed),
      block_rows_(std::clamp<uint64_t>(kValues / energy.dimension(), 256, kMostRows)) {}

void WeightedDraws::points(uint64_t block, Block& out) const {
  const uint64_t rows = std::min(block_rows_, count_ - block * block_rows_);
  out.rows.resize(rows * path_.dimension());
  out.log_q.resize(path_.needs_log_q() ? rows : 0);
  sample_density(proposal_, RandomStream(seed_, block).next(), out.rows, out.log_q);
}

void WeightedDraws::draw(uint64_t block, Block& out) const {
  points(block, out);
  const Points x{out.rows.data(), out.rows.size() / path_.dimension(), path_.dimension()};
  out.log_weight.resize(x.rows);
  path_.weights(x, out.log_q, out.log_weight);
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (out.log_weight[i] < std::numeric_limits<double>::infinity()) continue;
    throw Error(
        fmt::format("draw {} of the proposal has the log weight {}; expected a finite number or -inf: the "
                    "parameters of the energy are damaged, or training diverged",
                    block * block_rows_ + i, out.log_weight[i]));
  }
}

}  // namespace selfnorm
