#include <algorithm>

#include "conditional_mlp.h"
#include "mlp_tile.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

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

std::unique_ptr<ConditionalPass> ConditionalMlp::make_pass() const {
  return std::make_unique<MlpContextPass>(*this);
}

}  // namespace selfnorm
