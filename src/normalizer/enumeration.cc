#include "normalizer/enumeration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/kernels.h"
#include "math/parallel.h"
#include "math/vector.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kChunkBudget = 32u << 20;  // bytes of private gradients
constexpr size_t kTileBudget = 48u << 20;   // bytes of kept score tiles
constexpr uint64_t kMostClassChunks = 64;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

Range piece(uint64_t index, uint64_t size, uint64_t total) {
  return {std::min(index * size, total), std::min((index + 1) * size, total)};
}

}  // namespace

EnumerationPlan plan_enumeration(uint64_t rows, uint32_t classes, size_t gradient_size, size_t real_size) {
  EnumerationPlan plan;
  const uint64_t affordable = kChunkBudget / std::max<size_t>(1, gradient_size * real_size);
  const uint64_t row_bytes = uint64_t{classes} * real_size;
  if (affordable >= 16 && 64 * row_bytes <= (1u << 20)) {
    plan.tile = classes;
    plan.chunks =
        std::clamp<uint64_t>((rows + plan.block - 1) / plan.block, 1, std::min(affordable, kMostClassChunks));
    return plan;
  }
  plan.tile = std::min<uint64_t>(classes, std::clamp<uint64_t>(round_up((classes + 15) / 16, 16), 64, 1024));
  plan.block = std::clamp<uint64_t>(kTileBudget / row_bytes / 64 * 64, 64, 512);
  plan.keep_tiles = plan.block * row_bytes <= kTileBudget;
  if (!plan.keep_tiles) plan.block = 256;
  return plan;
}

// The two passes over one (block of rows, tile of classes).
template <class Real>
struct Enumeration<Real>::BlockPass {
  const Enumeration& self;
  std::span<const Real> theta;
  Range rows;

  bool holds_target(uint64_t row, Range tile) const {
    return self.target_[row] >= tile.begin && self.target_[row] < tile.end;
  }

  // scores <- exp(S - m); sums[i] <- (m, sum); target_score[i] where the tile holds the target.
  void exponentiate(Range tile, Real* scores, LogSumExp* sums, double* target_score) const {
    self.model_.scores(theta, rows, tile, scores);
    for (uint64_t i = 0; i < rows.size(); ++i) {
      Real* row = scores + i * tile.size();
      const uint64_t example = rows.begin + i;
      if (holds_target(example, tile))
        target_score[i] = static_cast<double>(row[self.target_[example] - tile.begin]);
      sums[i] = exp_in_place(row, tile.size());
    }
  }

  // exp(S - m) <- derivatives, and their part of the gradient.
  void differentiate(Range tile, Real* scores, const LogSumExp* sums, const double* log_z,
                     const ScoreDerivatives* d, Real* gradient) const {
    for (uint64_t i = 0; i < rows.size(); ++i) {
      Real* row = scores + i * tile.size();
      const uint64_t example = rows.begin + i;
      scale(static_cast<Real>(d[i].log_z * std::exp(sums[i].max - log_z[i])), row, tile.size());
      if (holds_target(example, tile))
        row[self.target_[example] - tile.begin] += static_cast<Real>(d[i].score);
    }
    self.model_.backward(rows, tile, scores, gradient);
  }
};

template <class Real>
Enumeration<Real>::Enumeration(Multiclass<Real> model, const std::vector<uint32_t>& target)
    : model_(model), target_(target) {
  SELFNORM_CHECK(target.size() == model_.rows());
}

template <class Real>
void Enumeration<Real>::run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                            std::span<Real> gradient) const {
  SELFNORM_CHECK(theta.size() == parameters());
  SELFNORM_CHECK(gradient.empty() || gradient.size() == gradient_size());
  const EnumerationPlan plan = plan_enumeration(normalised, model_.classes(), gradient_size(), sizeof(Real));
  if (gradient.empty() || plan.chunks > 0) {
    run_by_rows(theta, normalised, visit, gradient, plan);
  } else {
    run_by_tiles(theta, normalised, visit, gradient, plan);
  }
  run_unnormalised(theta, normalised, visit, gradient);
}

// Rows in parallel. Without a gradient every block is independent; with one (a single tile) every chunk has
// its own.
template <class Real>
void Enumeration<Real>::run_by_rows(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                                    std::span<Real> gradient, const EnumerationPlan& plan) const {
  const uint64_t blocks = (normalised + plan.block - 1) / plan.block;
  const uint64_t chunks = gradient.empty() ? blocks : std::min(plan.chunks, blocks);
  std::vector<Real> gradients(gradient.size() * chunks);
  parallel_units(chunks, [&](size_t chunk) {
    std::vector<Real> scores(plan.block * plan.tile);
    std::vector<LogSumExp> tile_sums(plan.block);
    std::vector<double> target_score(plan.block), log_z(plan.block);
    std::vector<ScoreDerivatives> d(plan.block);
    for (uint64_t b = chunk * blocks / chunks; b < (chunk + 1) * blocks / chunks; ++b) {
      const BlockPass pass{*this, theta, piece(b, plan.block, normalised)};
      std::vector<LogSumExp> sums(pass.rows.size());
      for (uint64_t first = 0; first < model_.classes(); first += plan.tile) {
        pass.exponentiate(piece(first / plan.tile, plan.tile, model_.classes()), scores.data(),
                          tile_sums.data(), target_score.data());
        for (uint64_t i = 0; i < pass.rows.size(); ++i) sums[i].merge(tile_sums[i]);
      }
      for (uint64_t i = 0; i < pass.rows.size(); ++i) {
        log_z[i] = sums[i].value();
        d[i] = visit(pass.rows.begin + i, target_score[i], log_z[i]);
      }
      if (!gradient.empty()) {
        pass.differentiate({0, model_.classes()}, scores.data(), sums.data(), log_z.data(), d.data(),
                           gradients.data() + chunk * gradient.size());
      }
    }
  });
  parallel_ranges(gradient.size(), 4096, [&](size_t begin, size_t end) {
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      add_scaled(Real{1}, gradients.data() + chunk * gradient.size() + begin, gradient.data() + begin,
                 end - begin);
    }
  });
}

// Blocks in order, the tiles of a block in parallel: a tile owns its columns of the one gradient.
template <class Real>
void Enumeration<Real>::run_by_tiles(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                                     std::span<Real> gradient, const EnumerationPlan& plan) const {
  const uint64_t tiles = (model_.classes() + plan.tile - 1) / plan.tile;
  std::vector<Real> kept(plan.keep_tiles ? plan.block * model_.classes() : 0);
  std::vector<LogSumExp> sums(plan.block * tiles);
  std::vector<double> target_score(plan.block), log_z(plan.block);
  std::vector<ScoreDerivatives> d(plan.block);
  for (uint64_t first = 0; first < normalised; first += plan.block) {
    const BlockPass pass{*this, theta, piece(first / plan.block, plan.block, normalised)};
    const auto with_scores = [&](uint64_t t, const auto& body) {
      const Range tile = piece(t, plan.tile, model_.classes());
      if (plan.keep_tiles) {
        body(tile, kept.data() + plan.block * tile.begin);
      } else {
        std::vector<Real> scratch(plan.block * plan.tile);
        body(tile, scratch.data());
      }
    };
    parallel_units(tiles, [&](size_t t) {
      with_scores(t, [&](Range tile, Real* scores) {
        pass.exponentiate(tile, scores, &sums[t * plan.block], target_score.data());
      });
    });
    for (uint64_t i = 0; i < pass.rows.size(); ++i) {
      LogSumExp total;
      for (uint64_t t = 0; t < tiles; ++t) total.merge(sums[t * plan.block + i]);
      log_z[i] = total.value();
      d[i] = visit(pass.rows.begin + i, target_score[i], log_z[i]);
    }
    parallel_units(tiles, [&](size_t t) {
      with_scores(t, [&](Range tile, Real* scores) {
        if (!plan.keep_tiles) {
          std::vector<double> again(plan.block);
          pass.exponentiate(tile, scores, &sums[t * plan.block], again.data());
        }
        pass.differentiate(tile, scores, &sums[t * plan.block], log_z.data(), d.data(), gradient.data());
      });
    });
  }
}

template <class Real>
void Enumeration<Real>::run_unnormalised(std::span<const Real> theta, uint64_t first, const Visit& visit,
                                         std::span<Real> gradient) const {
  for (uint64_t i = first; i < examples(); ++i) {
    const ScoreDerivatives d =
        visit(i, model_.score(theta, i, target_[i]), std::numeric_limits<double>::quiet_NaN());
    if (!gradient.empty()) model_.backward(i, target_[i], d.score, gradient.data());
  }
}

template <class Real>
void Enumeration<Real>::summarise(std::span<const Real> theta,
                                  const std::function<void(uint64_t, const OutputSummary&)>& sink) const {
  const EnumerationPlan plan = plan_enumeration(examples(), model_.classes(), gradient_size(), sizeof(Real));
  const uint64_t blocks = (examples() + plan.block - 1) / plan.block;
  parallel_units(blocks, [&](size_t b) {
    const Range rows = piece(b, plan.block, examples());
    std::vector<Real> scores(rows.size() * plan.tile), shares(plan.tile);
    std::vector<OutputSummary> out(rows.size());
    std::vector<SoftmaxMoments> moments(rows.size());
    const auto for_each_tile = [&](const auto& body) {
      for (uint64_t first = 0; first < model_.classes(); first += plan.tile) {
        const Range tile = piece(first / plan.tile, plan.tile, model_.classes());
        model_.scores(theta, rows, tile, scores.data());
        for (uint64_t i = 0; i < rows.size(); ++i) body(i, tile, scores.data() + i * tile.size());
      }
    };
    std::vector<Real> target_score(rows.size());
    for_each_tile([&](uint64_t i, Range tile, const Real* row) {
      const uint32_t y = target_[rows.begin + i];
      if (y >= tile.begin && y < tile.end) target_score[i] = row[y - tile.begin];
      std::copy(row, row + tile.size(), shares.begin());
      const LogSumExp part = exp_in_place(shares.data(), tile.size());
      double shifted = 0;
      for (uint64_t k = 0; k < tile.size(); ++k) {
        // a score of -inf carries nothing
        if (shares[k] > 0)
          shifted += static_cast<double>(shares[k]) * (static_cast<double>(row[k]) - part.max);
      }
      moments[i].append({part, shifted, 0}, tile.begin);
    });
    for_each_tile([&](uint64_t i, Range tile, const Real* row) {
      const uint32_t y = target_[rows.begin + i];
      for (uint64_t k = 0; k < tile.size(); ++k) {
        const bool ahead = row[k] > target_score[i] || (row[k] == target_score[i] && tile.begin + k < y);
        out[i].better += ahead ? 1 : 0;
      }
    });
    for (uint64_t i = 0; i < rows.size(); ++i) {
      out[i].score = static_cast<double>(target_score[i]);
      out[i].log_z = moments[i].log_z();
      out[i].log_prob = moments[i].total.log_share(out[i].score);
      out[i].entropy = moments[i].entropy();
      out[i].outputs = model_.classes();
      sink(rows.begin + i, out[i]);
    }
  });
}

template class Enumeration<float>;
template class Enumeration<double>;

}  // namespace selfnorm
