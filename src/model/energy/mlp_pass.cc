#include <algorithm>

#include "mlp_energy.h"
#include "mlp_tile.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

class MlpPass final : public EnergyPass {
 public:
  explicit MlpPass(const MlpEnergy& energy) : energy_(energy) {}

  std::span<const double> forward(const Points& x) override {
    SELFNORM_CHECK(x.columns == energy_.dimension());
    const MlpWeights& weights = energy_.weights();
    s_.resize(x.rows);
    while (tiles_.size() * kTileRows < x.rows) tiles_.emplace_back(weights.shape);
    parallel_ranges(x.rows, kTileRows, [&](size_t begin, size_t end) {
      tiles_[begin / kTileRows].forward(weights, x.slice(begin, end), true, &s_[begin]);
    });
    return s_;
  }

  void backward(std::span<const double> d, std::span<float> gradient) override {
    SELFNORM_CHECK(d.size() == s_.size());
    const MlpWeights& weights = energy_.weights();
    const size_t piece = gradient_piece(d.size(), weights.shape.parameters),
                 pieces = (d.size() + piece - 1) / piece;
    while (parts_.size() < pieces) {
      parts_.emplace_back(weights.shape);
      deltas_.emplace_back(weights.shape);
    }
    parallel_ranges(d.size(), piece, [&](size_t begin, size_t end) {
      MlpGradient& part = parts_[begin / piece];
      part.clear();
      for (size_t i = begin; i < end; i += kTileRows) {
        const size_t rows = std::min(kTileRows, end - i);
        tiles_[i / kTileRows].backward(weights, d.subspan(i, rows), deltas_[begin / piece], part);
      }
    });
    energy_.add_gradient(std::span<MlpGradient>(parts_).first(pieces), gradient);
  }

 private:
  const MlpEnergy& energy_;
  std::vector<double> s_;
  std::vector<MlpTile> tiles_;
  std::vector<MlpGradient> parts_;
  std::vector<MlpTile::Deltas> deltas_;
};

}  // namespace

std::unique_ptr<EnergyPass> MlpEnergy::make_pass() const { return std::make_unique<MlpPass>(*this); }

}  // namespace selfnorm
