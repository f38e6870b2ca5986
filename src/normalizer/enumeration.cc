#include "normalizer/enumeration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/vector.h"
#include "normalizer/shared_visits.h"
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

template <class Real>
class LabelWeights final : public ScoreWeights<Real> {
 public:
  explicit LabelWeights(std::span<const uint32_t> target) : target_(target) {}

  bool needs_room() const override { return false; }
  void score(Range rows, Range tile, const Real* scores, Real*, double* part) const override {
    for (uint64_t i = 0; i < rows.size(); ++i)
      part[i] = holds(tile, rows.begin + i) ? static_cast<double>(scores[place(rows, tile, i)]) : 0;
  }
  void add(Range rows, Range tile, const ScoreDerivatives* by, const Real*, Real* d) const override {
    for (uint64_t i = 0; i < rows.size(); ++i)
      if (holds(tile, rows.begin + i)) d[place(rows, tile, i)] += static_cast<Real>(by[i].score);
  }

 private:
  bool holds(Range tile, uint64_t row) const { return target_[row] >= tile.begin && target_[row] < tile.end; }
  uint64_t place(Range rows, Range tile, uint64_t i) const {
    return i * tile.size() + target_[rows.begin + i] - tile.begin;
  }

  std::span<const uint32_t> target_;
};

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

  // What a tile holds between the passes: exp(S - m), the weights of targets, and of every row (m, sum) and
  // the tile's part of s(x).
  struct TileView {
    Range classes;
    Real *scores, *room;
    LogSumExp* sums;
    double* part;
  };

  void exponentiate(const TileView& tile) const {
    self.model_.scores(theta, rows, tile.classes, tile.scores);
    self.weights_->score(rows, tile.classes, tile.scores, tile.room, tile.part);
    const size_t n = tile.classes.size();
    for (uint64_t i = 0; i < rows.size(); ++i) tile.sums[i] = exp_in_place(tile.scores + i * n, n);
  }

  // exp(S - m) <- derivatives, and their part of the gradient.
  void differentiate(const TileView& tile, const double* log_z, const ScoreDerivatives* d,
                     Real* gradient) const {
    const size_t n = tile.classes.size();
    for (uint64_t i = 0; i < rows.size(); ++i)
      scale(static_cast<Real>(d[i].log_z * std::exp(tile.sums[i].max - log_z[i])), tile.scores + i * n, n);
    self.weights_->add(rows, tile.classes, d, tile.room, tile.scores);
    self.model_.backward(rows, tile.classes, tile.scores, gradient);
  }
};

template <class Real>
Enumeration<Real>::Enumeration(Multiclass<Real> model, std::span<const uint32_t> target)
    : model_(model), target_(target), weights_(std::make_unique<LabelWeights<Real>>(target)) {
  SELFNORM_CHECK(target.size() == model_.rows());
}

template <class Real>
Enumeration<Real>::Enumeration(Multiclass<Real> model, std::unique_ptr<ScoreWeights<Real>> weights)
    : model_(model), weights_(std::move(weights)) {}

template <class Real>
void Enumeration<Real>::run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                            std::span<Real> gradient) const {
  SELFNORM_CHECK(theta.size() == parameters() && (target_ || normalised >= examples()));
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
// its own. Processes share the chunks; every one visits all examples, for what visitors add up.
template <class Real>
void Enumeration<Real>::run_by_rows(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                                    std::span<Real> gradient, const EnumerationPlan& plan) const {
  const uint64_t blocks = (normalised + plan.block - 1) / plan.block;
  const uint64_t chunks = gradient.empty() ? blocks : std::min(plan.chunks, blocks);
  const UnitShare own = own_units(chunks);
  std::vector<Real> gradients(gradient.size() * own.size());
  const auto begin_of = [&](size_t chunk) {
    return std::min(normalised, chunk * blocks / chunks * plan.block);
  };
  visit_in_units(chunks, begin_of, visit, [&](size_t chunk, const auto& see) {
    std::vector<Real> scores(plan.block * plan.tile), room(weights_->needs_room() ? scores.size() : 0);
    std::vector<LogSumExp> tile_sums(plan.block);
    std::vector<double> part(plan.block), log_z(plan.block);
    std::vector<ScoreDerivatives> d(plan.block);
    for (uint64_t b = chunk * blocks / chunks; b < (chunk + 1) * blocks / chunks; ++b) {
      const BlockPass pass{*this, theta, piece(b, plan.block, normalised)};
      std::vector<LogSumExp> sums(pass.rows.size());
      std::vector<double> score(pass.rows.size());
      typename BlockPass::TileView tile{{}, scores.data(), room.data(), tile_sums.data(), part.data()};
      for (uint64_t first = 0; first < model_.classes(); first += plan.tile) {
        tile.classes = piece(first / plan.tile, plan.tile, model_.classes());
        pass.exponentiate(tile);
        for (uint64_t i = 0; i < pass.rows.size(); ++i) {
          sums[i].merge(tile_sums[i]);
          score[i] += part[i];
        }
      }
      for (uint64_t i = 0; i < pass.rows.size(); ++i) {
        log_z[i] = sums[i].value();
        d[i] = see(pass.rows.begin + i, score[i], log_z[i]);
      }
      if (!gradient.empty())
        pass.differentiate(tile, log_z.data(), d.data(),
                           gradients.data() + (chunk - own.begin) * gradient.size());
    }
  });
  add_in_order(chunks, gradient, 4096, [&](size_t begin, size_t end) {
    for (uint64_t chunk = 0; chunk < own.size(); ++chunk) {
      add_scaled(Real{1}, gradients.data() + chunk * gradient.size() + begin, gradient.data() + begin,
                 end - begin);
    }
  });
}

// Blocks in order, the tiles of a block in parallel: a tile owns its columns of the one gradient. Processes
// share the tiles: of a block they exchange the (m, sum) and s of every row and tile, and in the end the
// columns.
template <class Real>
void Enumeration<Real>::run_by_tiles(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                                     std::span<Real> gradient, const EnumerationPlan& plan) const {
  const uint64_t tiles = (model_.classes() + plan.tile - 1) / plan.tile;
  const bool has_room = weights_->needs_room();
  std::vector<Real> kept(plan.keep_tiles ? plan.block * model_.classes() : 0),
      room(has_room ? kept.size() : 0);
  std::vector<LogSumExp> sums(plan.block * tiles);
  std::vector<double> parts(plan.block * tiles), log_z(plan.block);
  std::vector<ScoreDerivatives> d(plan.block);
  Communicator* const all = sharing(tiles);
  const auto begin_of = [&](size_t t) { return t * plan.block; };
  for (uint64_t first = 0; first < normalised; first += plan.block) {
    const BlockPass pass{*this, theta, piece(first / plan.block, plan.block, normalised)};
    // body(tile) for every tile in parallel; `is_known`: exponentiated before.
    const auto each_tile = [&](bool is_known, const auto& body, auto... arrays) {
      const auto unit = [&](size_t t) {
        std::vector<Real> own(plan.keep_tiles ? 0 : plan.block * plan.tile),
            own_room(has_room ? own.size() : 0);
        const Range classes = piece(t, plan.tile, model_.classes());
        const uint64_t at = plan.block * classes.begin;
        const typename BlockPass::TileView tile{
            classes, plan.keep_tiles ? kept.data() + at : own.data(),
            plan.keep_tiles && has_room ? room.data() + at : own_room.data(), &sums[t * plan.block],
            &parts[t * plan.block]};
        if (!is_known || !plan.keep_tiles) pass.exponentiate(tile);
        body(tile);
      };
      if (all != nullptr)
        share_units(*all, tiles, unit, arrays...);
      else
        parallel_units(tiles, unit);
    };
    if (all != nullptr)
      each_tile(
          false, [](const auto&) {}, shared_array(*all, tiles, sums.data(), begin_of),
          shared_array(*all, tiles, parts.data(), begin_of));
    else
      each_tile(false, [](const auto&) {});
    for (uint64_t i = 0; i < pass.rows.size(); ++i) {
      LogSumExp total;
      double score = 0;
      for (uint64_t t = 0; t < tiles; ++t) {
        total.merge(sums[t * plan.block + i]);
        score += parts[t * plan.block + i];
      }
      log_z[i] = total.value();
      d[i] = visit(pass.rows.begin + i, score, log_z[i]);
    }
    each_tile(true,
              [&](const auto& tile) { pass.differentiate(tile, log_z.data(), d.data(), gradient.data()); });
  }
  if (all != nullptr)
    gather_columns(*all, tiles, gradient, model_.classes(),
                   [&](size_t t) { return std::min<uint64_t>(t * plan.tile, model_.classes()); });
}

template <class Real>
void Enumeration<Real>::run_unnormalised(std::span<const Real> theta, uint64_t first, const Visit& visit,
                                         std::span<Real> gradient) const {
  for (uint64_t i = first; i < examples(); ++i) {
    const ScoreDerivatives d =
        visit(i, model_.score(theta, i, (*target_)[i]), std::numeric_limits<double>::quiet_NaN());
    if (!gradient.empty()) model_.backward(i, (*target_)[i], d.score, gradient.data());
  }
}

template <class Real>
void Enumeration<Real>::summarise(std::span<const Real> theta,
                                  const std::function<void(uint64_t, const OutputSummary&)>& sink) const {
  SELFNORM_CHECK(target_.has_value());
  const EnumerationPlan plan = plan_enumeration(examples(), model_.classes(), gradient_size(), sizeof(Real));
  const uint64_t blocks = (examples() + plan.block - 1) / plan.block;
  const auto begin_of = [&](size_t b) { return std::min(examples(), b * plan.block); };
  tell_in_units<OutputSummary>(blocks, begin_of, sink, [&](size_t b, const auto& tell) {
    const Range rows = piece(b, plan.block, examples());
    std::vector<Real> scores(rows.size() * plan.tile), target_score(rows.size());
    std::vector<uint64_t> better(rows.size());
    std::vector<SoftmaxMoments> moments(rows.size());
    // body(i, y, first class, scores) for the rows of every tile
    const auto each_row = [&](const auto& body) {
      for (uint64_t first = 0; first < model_.classes(); first += plan.tile) {
        const Range tile = piece(first / plan.tile, plan.tile, model_.classes());
        model_.scores(theta, rows, tile, scores.data());
        for (uint64_t i = 0; i < rows.size(); ++i)
          body(i, (*target_)[rows.begin + i], tile.begin,
               std::span<const Real>(scores).subspan(i * tile.size(), tile.size()));
      }
    };
    each_row([&](uint64_t i, uint32_t y, uint64_t first, std::span<const Real> row) {
      if (y >= first && y < first + row.size()) target_score[i] = row[y - first];
      moments[i].append(moments_of(row), first);
    });
    each_row([&](uint64_t i, uint32_t y, uint64_t first, std::span<const Real> row) {
      better[i] += outputs_ahead(row, first, target_score[i], y);
    });
    for (uint64_t i = 0; i < rows.size(); ++i)
      tell(rows.begin + i,
           summary_of(moments[i], static_cast<double>(target_score[i]), better[i], model_.classes()));
  });
}

namespace {

// w_ik = q_k(x_i)
class TeacherWeights final : public ScoreWeights<float> {
 public:
  TeacherWeights(const Features& rows, const ClassScores& teacher, std::span<const double> log_z)
      : rows_(rows), teacher_(teacher), log_z_(log_z) {}

  bool needs_room() const override { return true; }
  void score(Range rows, Range tile, const float* scores, float* room, double* part) const override {
    teacher_.tile(rows_, rows, tile, room);
    const size_t n = tile.size();
    for (uint64_t i = 0; i < rows.size(); ++i) {
      float* q = room + i * n;
      const LogSumExp sum = exp_in_place(q, n);
      scale(static_cast<float>(std::exp(sum.max - log_z_[rows.begin + i])), q, n);
      part[i] = dot(q, scores + i * n, n);
    }
  }
  void add(Range rows, Range tile, const ScoreDerivatives* by, const float* room, float* d) const override {
    const size_t n = tile.size();
    for (uint64_t i = 0; i < rows.size(); ++i)
      add_scaled(static_cast<float>(by[i].score), room + i * n, d + i * n, n);
  }

 private:
  const Features& rows_;
  const ClassScores& teacher_;
  std::span<const double> log_z_;
};

}  // namespace

TeacherEnumeration::TeacherEnumeration(const Multiclass<float>& model, const Features& rows,
                                       const ClassScores& teacher, std::span<const double> teacher_log_z)
    : Enumeration(model, std::make_unique<TeacherWeights>(rows, teacher, teacher_log_z)) {
  SELFNORM_CHECK(teacher.classes() == model.classes() && rows.rows() == model.rows());
  SELFNORM_CHECK(teacher_log_z.size() == rows.rows());
}

SoftmaxMoments moments_of(std::span<const float> scores) {
  return softmax_moments(scores.data(), scores.size());
}

SoftmaxMoments moments_of(std::span<const double> scores) {
  std::vector<double> shares(scores.begin(), scores.end());
  SoftmaxMoments out{exp_in_place(shares.data(), shares.size()), 0, 0};
  for (size_t k = 0; k < shares.size(); ++k)  // a score of -inf carries nothing
    if (shares[k] > 0) out.shifted += shares[k] * (scores[k] - out.total.max);
  while (out.best < scores.size() && scores[out.best] != out.total.max) ++out.best;
  return out;
}

OutputSummary summary_of(const SoftmaxMoments& moments, double target_score, uint64_t better,
                         uint64_t outputs) {
  return {target_score,      moments.log_z(), moments.total.log_share(target_score),
          moments.entropy(), better,          outputs};
}

template class Enumeration<float>;
template class Enumeration<double>;

}  // namespace selfnorm
