#include "sampler/gibbs.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kGibbsCrfs = 256;  // a unit of parallel work

// An index with probability weight_i / total; `total` is the sum of the weights.
size_t draw_index(std::span<const double> weight, double total, RandomStream& random) {
  double left = random.uniform() * total;
  for (size_t i = 0; i + 1 < weight.size(); ++i) {
    if (left < weight[i]) return i;
    left -= weight[i];
  }
  return weight.size() - 1;
}

}  // namespace

void GibbsOptions::validate() const { require_range(thin >= 1, "thin", static_cast<double>(thin), ">= 1"); }

GibbsChains::GibbsChains(const AnnealingPath& path, const Points& start, uint64_t seed)
    : path_(path),
      chains_(start.rows),
      dimension_(path.dimension()),
      x_(start.data, start.data + start.size()) {
  const Support& support = path.support();
  if (support.space != Support::Space::levels)
    throw Error("gibbs moves levels (binary or categorical data); use hmc for real numbers, sir for counts");
  if (start.columns != dimension_)
    throw_error("found chains of {} coordinates; expected {}", start.columns, dimension_);
  for (uint64_t i = 0; i < chains_; ++i) {
    if (!contains(support, start.row(i)))
      throw_error(
          "chain {} starts at a point that is not one of levels; expected whole numbers from 0 to the number "
          "of levels less one",
          i);
    random_.emplace_back(seed, i);
  }
  path_.evaluate(points(), values_);
  evaluations_ = chains_;
}

// Rows i (levels - 1) .. of `others_` are chain i with the other levels of coordinate j, ascending.
uint64_t GibbsChains::resample(double beta, uint32_t j) {
  const uint64_t others = path_.support().levels[j] - 1;
  if (others == 0) return 0;
  const size_t d = dimension_;
  others_.resize(chains_ * others * d);
  parallel_ranges(chains_, kGibbsCrfs, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto own = static_cast<uint64_t>(x_[i * d + j]);
      for (uint64_t k = 0; k < others; ++k) {
        float* row = others_.data() + (i * others + k) * d;
        std::copy_n(x_.data() + i * d, d, row);
        row[j] = static_cast<float>(k + (k >= own ? 1 : 0));
      }
    }
  });
  path_.evaluate({others_.data(), chains_ * others, dimension_}, other_values_);
  evaluations_ += chains_ * others;
  const double changed = ordered_sum(chains_, kGibbsCrfs, [&](size_t begin, size_t end) {
    std::vector<double> share(others + 1);
    double moved = 0;
    for (size_t i = begin; i < end; ++i) {
      for (uint64_t k = 0; k < others; ++k) share[k] = other_values_.at(beta, i * others + k);
      share[others] = values_.at(beta, i);
      const LogSumExp total = exp_in_place(share.data(), share.size());
      if (std::isnan(total.value()))
        throw Error(
            "a score is NaN; expected a finite number or -inf: the parameters of the energy are damaged, or "
            "training diverged");
      if (total.sum == 0) continue;
      const size_t k = draw_index(share, total.sum, random_[i]);
      if (k == others) continue;
      x_[i * d + j] = others_[(i * others + k) * d + j];
      values_.start[i] = other_values_.start[i * others + k];
      values_.weight[i] = other_values_.weight[i * others + k];
      ++moved;
    }
    return moved;
  });
  return static_cast<uint64_t>(changed);
}

double GibbsChains::sweep(double beta) {
  uint64_t changed = 0;
  for (uint32_t j = 0; j < dimension_; ++j) changed += resample(beta, j);
  return static_cast<double>(changed) / static_cast<double>(x_.size());
}

ChainDraws gibbs(const Energy& energy, const Points& start, uint64_t draws, const GibbsOptions& options,
                 uint64_t seed) {
  options.validate();
  const AnnealingPath path(energy);
  GibbsChains chains(path, start, seed);
  for (uint64_t t = 0; t < options.warmup; ++t) chains.sweep(1);
  return draw_chains(chains, draws, options.thin, [&] { return chains.sweep(1); });
}

double gibbs_sweeps(const Energy& energy, uint64_t sweeps, uint64_t seed, std::span<float> rows) {
  const std::vector<float> before(rows.begin(), rows.end());
  if (energy.block_sweeps(sweeps, seed, rows)) {
    double moved = 0;
    for (size_t i = 0; i < rows.size(); ++i) moved += rows[i] != before[i] ? 1 : 0;
    return rows.empty() ? 0 : moved / static_cast<double>(rows.size());
  }
  const AnnealingPath path(energy);
  GibbsChains chains(path, {rows.data(), rows.size() / energy.dimension(), energy.dimension()}, seed);
  double changed = 0;
  for (uint64_t t = 0; t < sweeps; ++t) changed += chains.sweep(1);
  const Points x = chains.points();
  std::copy(x.data, x.data + x.size(), rows.begin());
  return sweeps == 0 ? 0 : changed / static_cast<double>(sweeps);
}

}  // namespace selfnorm
