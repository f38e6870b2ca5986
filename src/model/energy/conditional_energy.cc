#include "model/energy/conditional_energy.h"

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "math/random.h"
#include "model/energy/conditional_mlp.h"
#include "model/energy/mlp_jet.h"
#include "model/energy/mlp_tile.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kUnitRows = 16 * kTileRows, kSlowUnitRows = 4 * kTileRows;

// body(begin, end) over [begin, end) in pieces of at most `piece`.
template <class Body>
void in_pieces(uint64_t begin, uint64_t end, uint64_t piece, const Body& body) {
  for (uint64_t i = begin; i < end; i += piece) body(i, std::min(end, i + piece));
}

constexpr uint64_t kSpreadStream = 0x5B2E;
constexpr double kSlope = 3, kReach = 2;

// W_1 ~ N(0, kSlope^2 / d) on y, and c_1 = -W_1 t with t ~ U(-kReach, kReach): units that bend somewhere
// among standardised y, steeply enough for densities narrower than those.
void spread_first_layer(const MlpShape& shape, RandomStream random, std::span<float> theta) {
  const MlpLayer& layer = shape.layers[0];
  for (uint32_t i = 0; i < layer.out; ++i) {
    double bend = 0;
    for (uint32_t j = 0; j < shape.dimension; ++j) {
      const double w = kSlope / std::sqrt(shape.dimension) * random.normal();
      theta[layer.weight + size_t{i} * layer.in + j] = static_cast<float>(w);
      bend += w * kReach * (2 * random.uniform() - 1);
    }
    theta[layer.bias + i] = static_cast<float>(-bend);
  }
}

class MlpContextPass final : public ConditionalPass {
 public:
  explicit MlpContextPass(const ConditionalMlp& energy) : energy_(energy) {}

  std::span<const double> forward(const ConditionalPoints& at) override {
    const MlpWeights& weights = energy_.weights();
    const MlpRows rows = energy_.rows(at);
    contexts_ = at.context.rows;
    f_.resize(rows.x.rows);
    cut_contexts(at.row, gradient_piece(f_.size(), weights.shape.parameters), units_);
    first_tile_.assign(1, 0);
    for (const ContextUnit& unit : units_)
      first_tile_.push_back(first_tile_.back() + (unit.end - unit.begin + kTileRows - 1) / kTileRows);
    while (tiles_.size() < first_tile_.back()) tiles_.emplace_back(weights.shape);
    parallel_units(units_.size(), [&](size_t u) {
      for_tiles(u, [&](MlpTile& tile, size_t begin, size_t end) {
        tile.forward(weights, rows.slice(begin, end), true, &f_[begin]);
      });
    });
    return f_;
  }

  void backward(std::span<const double> d, std::span<float> gradient, std::span<float> d_context) override {
    const MlpWeights& weights = energy_.weights();
    SELFNORM_CHECK(d.size() == f_.size() && d_context.size() == contexts_ * energy_.context_width());
    while (parts_.size() < units_.size()) {
      parts_.emplace_back(weights.shape);
      deltas_.emplace_back(weights.shape);
    }
    std::fill(d_context.begin(), d_context.end(), 0.0f);
    parallel_units(units_.size(), [&](size_t u) {
      MlpGradient& part = parts_[u];
      part.clear();
      part.context = d_context.data();
      for_tiles(u, [&](const MlpTile& tile, size_t begin, size_t end) {
        tile.backward(weights, d.subspan(begin, end - begin), deltas_[u], part);
      });
      part.add_contexts_to_bias(weights.shape, units_[u].first_context, units_[u].end_context);
    });
    energy_.energy().add_gradient(std::span<MlpGradient>(parts_).first(units_.size()), gradient);
  }

 private:
  // body(tile, begin, end) for the tiles of unit u.
  template <class Body>
  void for_tiles(size_t u, const Body& body) {
    const ContextUnit& unit = units_[u];
    size_t tile = first_tile_[u];
    for (uint64_t i = unit.begin; i < unit.end; i += kTileRows)
      body(tiles_[tile++], i, std::min<uint64_t>(unit.end, i + kTileRows));
  }

  const ConditionalMlp& energy_;
  uint64_t contexts_ = 0;
  std::vector<double> f_;
  std::vector<ContextUnit> units_;
  std::vector<size_t> first_tile_;  // of every unit
  std::vector<MlpTile> tiles_;
  std::vector<MlpGradient> parts_;
  std::vector<MlpTile::Deltas> deltas_;
};

}  // namespace

void cut_contexts(std::span<const uint32_t> row, uint64_t least, std::vector<ContextUnit>& units) {
  units.clear();
  for (uint64_t begin = 0; begin < row.size();) {
    uint64_t end = std::min<uint64_t>(row.size(), begin + least);
    while (end < row.size() && row[end] == row[end - 1]) ++end;
    units.push_back({begin, end, row[begin], row[end - 1] + 1});
    begin = end;
  }
}

MlpRows ConditionalMlp::rows(const ConditionalPoints& at) const {
  SELFNORM_CHECK(at.y.columns == dimension() && at.context.columns == context_width());
  SELFNORM_CHECK(at.row.size() == at.y.rows && std::is_sorted(at.row.begin(), at.row.end()));
  SELFNORM_CHECK(at.row.empty() || at.row.back() < at.context.rows);
  return {at.y, at.context, at.row.data()};
}

void ConditionalMlp::score(const ConditionalPoints& at, std::span<double> f) const {
  const MlpRows all = rows(at);
  SELFNORM_CHECK(f.size() == at.y.rows);
  parallel_ranges(f.size(), kUnitRows, [&](size_t begin, size_t end) {
    MlpTile tile(weights().shape);
    in_pieces(begin, end, kTileRows,
              [&](size_t i, size_t j) { tile.forward(weights(), all.slice(i, j), false, &f[i]); });
  });
}

void ConditionalMlp::score_gradient(const ConditionalPoints& at, std::span<double> f,
                                    std::span<float> dy) const {
  const MlpRows all = rows(at);
  SELFNORM_CHECK(f.size() == at.y.rows && dy.size() == at.y.size());
  parallel_ranges(f.size(), kSlowUnitRows, [&](size_t begin, size_t end) {
    MlpTile tile(weights().shape);
    MlpTile::Deltas deltas(weights().shape);
    in_pieces(begin, end, kTileRows, [&](size_t i, size_t j) {
      tile.forward(weights(), all.slice(i, j), true, &f[i]);
      tile.input_gradient(weights(), deltas, dy.data() + i * dimension());
    });
  });
}

void ConditionalMlp::directional(const ConditionalPoints& at, const Points& v, std::span<double> first,
                                 std::span<double> second) const {
  const MlpRows all = rows(at);
  SELFNORM_CHECK(v.columns == dimension() && v.rows == at.y.rows);
  SELFNORM_CHECK(first.size() == v.rows && (second.empty() || second.size() == v.rows));
  parallel_ranges(v.rows, kSlowUnitRows, [&](size_t begin, size_t end) {
    MlpJet jet(weights().shape, second.empty() ? 2 : 3);
    in_pieces(begin, end, kJetRows, [&](size_t i, size_t j) {
      jet.forward(weights(), all.slice(i, j), v.slice(i, j), &first[i],
                  second.empty() ? nullptr : &second[i]);
    });
  });
}

void ConditionalMlp::directional_backward(const ConditionalPoints& at, const Points& v,
                                          std::span<const double> d_first, std::span<const double> d_second,
                                          std::span<float> gradient, std::span<float> d_context) const {
  const MlpRows all = rows(at);
  const MlpShape& shape = weights().shape;
  SELFNORM_CHECK(v.columns == dimension() && v.rows == at.y.rows && d_first.size() == v.rows);
  SELFNORM_CHECK(d_second.empty() || d_second.size() == v.rows);
  SELFNORM_CHECK(d_context.size() == at.context.size());
  std::vector<ContextUnit> units;
  cut_contexts(at.row, gradient_piece(v.rows, shape.parameters), units);
  std::vector<MlpGradient> parts;
  for (size_t u = 0; u < units.size(); ++u) parts.emplace_back(shape);
  std::fill(d_context.begin(), d_context.end(), 0.0f);
  parallel_units(units.size(), [&](size_t u) {
    MlpGradient& part = parts[u];
    part.context = d_context.data();
    MlpJet jet(shape, d_second.empty() ? 2 : 3);
    double first[kJetRows], second[kJetRows];
    in_pieces(units[u].begin, units[u].end, kJetRows, [&](size_t i, size_t j) {
      jet.forward(weights(), all.slice(i, j), v.slice(i, j), first, second);
      jet.backward(weights(), &d_first[i], d_second.empty() ? nullptr : &d_second[i], part);
    });
    part.add_contexts_to_bias(shape, units[u].first_context, units[u].end_context);
  });
  energy_->add_gradient(parts, gradient);
}

std::unique_ptr<ConditionalEnergy> make_conditional_mlp(uint32_t dimension, const MlpOptions& options,
                                                        uint64_t seed, bool starts_at_zero) {
  auto energy = std::make_unique<MlpEnergy>(dimension, options, seed);
  spread_first_layer(energy->weights().shape, RandomStream(seed, kSpreadStream), energy->parameters());
  if (starts_at_zero) {
    std::span<float> w = energy->parameters().last(energy->weights().shape.width());
    std::fill(w.begin(), w.end(), 0.0f);
  }
  energy->parameters_changed();
  return std::make_unique<ConditionalMlp>(std::move(energy));
}

std::unique_ptr<ConditionalEnergy> make_conditional_mlp(const EnergyRecord& record) {
  return std::make_unique<ConditionalMlp>(std::make_unique<MlpEnergy>(record));
}

std::unique_ptr<ConditionalPass> ConditionalMlp::make_pass() const {
  return std::make_unique<MlpContextPass>(*this);
}

}  // namespace selfnorm
