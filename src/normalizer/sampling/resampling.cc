#include "normalizer/sampling/resampling.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/kernels.h"
#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {

std::vector<uint64_t> systematic_resampling(std::span<const double> log_weight, uint64_t n,
                                            RandomStream random) {
  std::vector<double> weight(log_weight.begin(), log_weight.end());
  const LogSumExp total = exp_in_place(weight.data(), weight.size());
  if (!(total.sum > 0))
    throw_error(
        "none of {} draws of the proposal is possible under the energy; expected a proposal that covers it: "
        "fit one to the data",
        weight.size());
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

namespace {

constexpr double kLeastBeta = 0x1p-20;

double effective_draws(std::span<const double> log_weight) {
  WeightSum sum;
  for (const double w : log_weight) sum.add(w);
  return sum.effective();
}

// The weights of a pool, which can be drawn again.
class Pool {
 public:
  Pool(const Energy& energy, const Density& proposal, uint64_t size, uint64_t seed)
      : draws_(energy, proposal, size, RandomStream(seed, 0).next()),
        dimension_(energy.dimension()),
        seed_(seed) {
    log_weight_.reserve(size);
    WeightedDraws::Block block;
    for (uint64_t b = 0; b < draws_.blocks(); ++b) {
      draws_.draw(b, block);
      log_weight_.insert(log_weight_.end(), block.log_weight.begin(), block.log_weight.end());
    }
    effective_ = effective_draws(log_weight_);
    ParetoTail tail(size);
    for (const double w : log_weight_) tail.add(w);
    tail_ = tail.shape();
  }

  void spread(uint64_t n) {
    const double wanted = 2 * static_cast<double>(n);
    for (double beta = 0.5, effective = effective_; effective < wanted && beta > 0; beta /= 2) {
      if (beta < kLeastBeta) beta = 0;
      for (double& w : log_weight_)
        if (!std::isinf(w)) w = beta == 0 ? 0 : w / 2;
      effective = effective_draws(log_weight_);
    }
  }

  Resampled keep(uint64_t n) const {
    const std::vector<uint64_t> kept = systematic_resampling(log_weight_, n, RandomStream(seed_, 1));
    const std::vector<uint64_t> place = random_permutation(n, RandomStream(seed_, 2));
    Resampled out{std::vector<float>(n * dimension_), effective_, draws_.count(), tail_};
    WeightedDraws::Block block;
    uint64_t drawn = draws_.blocks();  // the block that is in memory
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t rows = draws_.block_rows();
      if (kept[i] / rows != drawn) draws_.points(drawn = kept[i] / rows, block);
      std::copy_n(block.rows.data() + kept[i] % rows * dimension_, dimension_,
                  out.rows.data() + place[i] * dimension_);
    }
    return out;
  }

 private:
  WeightedDraws draws_;
  size_t dimension_;
  uint64_t seed_;
  std::vector<double> log_weight_;
  double effective_ = 0, tail_ = 0;
};

void check_sizes(uint64_t n, uint64_t pool) {
  require_range(n >= 1, "points", static_cast<double>(n), ">= 1");
  require_range(pool >= 1, "pool", static_cast<double>(pool), ">= 1");
}

}  // namespace

Resampled resample(const Energy& energy, const Density& proposal, uint64_t n, uint64_t pool, uint64_t seed) {
  check_sizes(n, pool);
  return Pool(energy, proposal, pool, seed).keep(n);
}

Resampled resample_spread(const Energy& energy, const Density& proposal, uint64_t n, uint64_t pool,
                          uint64_t seed) {
  check_sizes(n, pool);
  Pool drawn(energy, proposal, pool, seed);
  drawn.spread(n);
  return drawn.keep(n);
}

}  // namespace selfnorm
