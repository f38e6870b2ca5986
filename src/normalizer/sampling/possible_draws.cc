#include "normalizer/sampling/possible_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/range.h"
#include "normalizer/sampling/weighted_draws.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostDraws = uint64_t{1} << 20, kMostPerDraw = 4;
constexpr double kShareError = 0.01;  // of log q(S)

}  // namespace

PossibleDraws possible_draws(const Energy& energy, const Density& proposal, uint64_t n, uint64_t seed) {
  require_range(n >= 1, "draws", static_cast<double>(n), ">= 1");
  const size_t d = energy.dimension();
  const WeightedDraws draws(energy, proposal, std::max(kMostDraws, kMostPerDraw * n), seed);
  PossibleDraws out;
  WeightedDraws::Block block;
  uint64_t inside = 0;
  for (uint64_t b = 0; b < draws.blocks(); ++b) {
    draws.draw(b, block);
    for (size_t i = 0; i < block.log_weight.size(); ++i) {
      const bool is_inside = !std::isinf(block.log_weight[i]);
      out.share.add(is_inside ? 0 : -std::numeric_limits<double>::infinity());
      if (!is_inside || ++inside > n) continue;
      const float* row = block.rows.data() + i * d;
      out.rows.insert(out.rows.end(), row, row + d);
    }
    if (inside >= n && out.share.error() <= kShareError) return out;
  }
  if (inside >= n) return out;
  throw Error(
      fmt::format("{} of {} draws of the proposal are possible under the energy, {} are needed; expected a "
                  "proposal that covers it: fit one to the data",
                  inside, draws.count(), n));
}

}  // namespace selfnorm
