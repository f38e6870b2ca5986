#include "selfnorm/normalizer/resampling.h"

#include <fmt/format.h>

#include <algorithm>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/kernels.h"
#include "selfnorm/normalizer/importance_log_z.h"
#include "selfnorm/normalizer/weighted_draws.h"

namespace selfnorm {

std::vector<uint64_t> systematic_resampling(std::span<const double> log_weight, uint64_t n,
                                            RandomStream random) {
  std::vector<double> weight(log_weight.begin(), log_weight.end());
  const LogSumExp total = exp_in_place(weight.data(), weight.size());
  if (!(total.sum > 0))
    throw Error(
        fmt::format("none of {} draws of the proposal is possible under the energy; expected a proposal "
                    "that covers it: fit one to the data",
                    weight.size()));
  std::vector<uint64_t> out;
  out.reserve(n);
  const double spacing = total.sum / static_cast<double>(n);
  const double first = random.uniform();
  double reached = 0;
  uint64_t last = 0;  // of positive weight
  for (uint64_t i = 0; i < weight.size() && out.size() < n; ++i) {
    if (weight[i] == 0) continue;
    reached += weight[i];
    last = i;
    while (out.size() < n && (static_cast<double>(out.size()) + first) * spacing < reached) out.push_back(i);
  }
  out.resize(n, last);  // what rounding left at the end
  return out;
}

Resampled resample(const Energy& energy, const Density& proposal, uint64_t n, uint64_t pool, uint64_t seed) {
  require_range(n >= 1, "points", static_cast<double>(n), ">= 1");
  require_range(pool >= 1, "pool", static_cast<double>(pool), ">= 1");
  const WeightedDraws draws(energy, proposal, pool, RandomStream(seed, 0).next());
  WeightedDraws::Block block;
  std::vector<double> log_weight;
  log_weight.reserve(pool);
  WeightSum sum;
  for (uint64_t b = 0; b < draws.blocks(); ++b) {
    draws.draw(b, block);
    for (const double w : block.log_weight) sum.add(w);
    log_weight.insert(log_weight.end(), block.log_weight.begin(), block.log_weight.end());
  }
  const std::vector<uint64_t> kept = systematic_resampling(log_weight, n, RandomStream(seed, 1));
  const std::vector<uint64_t> place = random_permutation(n, RandomStream(seed, 2));
  const size_t d = energy.dimension();
  Resampled out{std::vector<float>(n * d), sum.effective(), pool};
  uint64_t drawn = draws.blocks();  // the block that is in memory
  for (uint64_t i = 0; i < n; ++i) {
    if (kept[i] / draws.block_rows() != drawn) draws.points(drawn = kept[i] / draws.block_rows(), block);
    std::copy_n(block.rows.data() + kept[i] % draws.block_rows() * d, d, out.rows.data() + place[i] * d);
  }
  return out;
}

}  // namespace selfnorm
