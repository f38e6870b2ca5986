#include "selfnorm/model/energy/mlp.h"

#include <algorithm>
#include <cmath>

#include "mlp_energy.h"
#include "mlp_jet.h"
#include "mlp_tile.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMlpUnitRows = 4 * kTileRows;

// Pieces of rows for work that keeps nothing of them.
template <class Body>
void for_tiles(uint64_t begin, uint64_t end, uint64_t tile, const Body& body) {
  for (uint64_t i = begin; i < end; i += tile) body(i, std::min(end, i + tile));
}

const MlpOptions& valid(uint32_t dimension, const MlpOptions& options) {
  require_range(dimension >= 1, "dimension", dimension, "at least 1");
  options.validate();
  return options;
}

}  // namespace

size_t gradient_piece(uint64_t rows, size_t parameters) {
  const uint64_t tiles = (rows + kTileRows - 1) / kTileRows;
  const uint64_t most = std::clamp<uint64_t>((uint64_t{1} << 26) / parameters, 1, 16);
  return kTileRows * std::max<uint64_t>(2, (tiles + most - 1) / most);
}

MlpEnergy::MlpEnergy(uint32_t dimension, const MlpOptions& options, uint64_t seed)
    : options_(valid(dimension, options)), shape_(dimension, options), weights_(shape_) {
  theta_.resize(shape_.parameters);
  RandomStream random(seed);
  const auto draw = [&](size_t begin, size_t n, double deviation) {
    for (size_t i = 0; i < n; ++i) theta_[begin + i] = static_cast<float>(deviation * random.normal());
  };
  draw(0, size_t{shape_.fourier} * dimension, options.fourier_scale);
  for (const MlpLayer& layer : shape_.layers)
    draw(layer.weight, size_t{layer.in} * layer.out, std::sqrt(2.0 / layer.in));
  draw(shape_.output, shape_.width(), 0.1 / std::sqrt(shape_.width()));
  parameters_changed();
}

std::span<const float> MlpEnergy::weight(size_t l) const {
  const MlpLayer& layer = shape_.layers[l];
  return std::span<const float>(theta_).subspan(layer.weight, size_t{layer.in} * layer.out);
}

void MlpEnergy::parameters_changed() {
  if (options_.spectral_norm && spectral_.empty())
    for (const MlpLayer& layer : shape_.layers) spectral_.emplace_back(layer.out, layer.in);
  parallel_units(spectral_.size(), [&](size_t l) { spectral_[l].measure(weight(l)); });
  std::vector<double> sigma(shape_.layers.size(), 1.0);
  for (size_t l = 0; l < spectral_.size(); ++l) sigma[l] = spectral_[l].sigma();
  weights_.assign(theta_, sigma);
}

void MlpEnergy::add_gradient(std::span<MlpGradient> parts, std::span<float> gradient) const {
  SELFNORM_CHECK(gradient.size() == theta_.size());
  if (spectral_.empty()) return MlpGradient::add(shape_, parts, gradient);
  std::vector<float> sum(theta_.size());
  MlpGradient::add(shape_, parts, sum);
  for (size_t l = 0; l < spectral_.size(); ++l) {
    const MlpLayer& layer = shape_.layers[l];
    const size_t size = size_t{layer.in} * layer.out;
    const std::span<float> own = std::span<float>(sum).subspan(layer.weight, size);
    spectral_[l].add_gradient(weight(l), own, gradient.subspan(layer.weight, size));
    std::fill(own.begin(), own.end(), 0.0f);
  }
  for (size_t i = 0; i < sum.size(); ++i) gradient[i] += sum[i];
}

void MlpEnergy::score(const Points& x, std::span<double> s) const {
  SELFNORM_CHECK(x.columns == dimension() && s.size() == x.rows);
  parallel_ranges(x.rows, kMlpUnitRows, [&](size_t begin, size_t end) {
    MlpTile tile(shape_);
    for_tiles(begin, end, kTileRows,
              [&](size_t i, size_t j) { tile.forward(weights_, x.slice(i, j), false, &s[i]); });
  });
}

void MlpEnergy::score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const {
  SELFNORM_CHECK(x.columns == dimension() && s.size() == x.rows && dx.size() == x.size());
  parallel_ranges(x.rows, kMlpUnitRows, [&](size_t begin, size_t end) {
    MlpTile tile(shape_);
    MlpTile::Deltas deltas(shape_);
    for_tiles(begin, end, kTileRows, [&](size_t i, size_t j) {
      tile.forward(weights_, x.slice(i, j), true, &s[i]);
      tile.input_gradient(weights_, deltas, dx.data() + i * x.columns);
    });
  });
}

void MlpEnergy::directional(const Points& x, const Points& v, std::span<double> first,
                            std::span<double> second) const {
  SELFNORM_CHECK(x.columns == dimension() && v.columns == dimension() && v.rows == x.rows);
  SELFNORM_CHECK(first.size() == x.rows && (second.empty() || second.size() == x.rows));
  parallel_ranges(x.rows, kMlpUnitRows, [&](size_t begin, size_t end) {
    MlpJet jet(shape_, second.empty() ? 2 : 3);
    for_tiles(begin, end, kJetRows, [&](size_t i, size_t j) {
      jet.forward(weights_, x.slice(i, j), v.slice(i, j), &first[i], second.empty() ? nullptr : &second[i]);
    });
  });
}

void MlpEnergy::directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                                     std::span<const double> d_second, std::span<float> gradient) const {
  SELFNORM_CHECK(x.columns == dimension() && v.columns == dimension() && v.rows == x.rows);
  SELFNORM_CHECK(d_first.size() == x.rows && (d_second.empty() || d_second.size() == x.rows));
  const size_t piece = gradient_piece(x.rows, theta_.size()), pieces = (x.rows + piece - 1) / piece;
  std::vector<MlpGradient> parts;
  for (size_t p = 0; p < pieces; ++p) parts.emplace_back(shape_);
  parallel_ranges(x.rows, piece, [&](size_t begin, size_t end) {
    MlpJet jet(shape_, d_second.empty() ? 2 : 3);
    double first[kJetRows], second[kJetRows];
    for_tiles(begin, end, kJetRows, [&](size_t i, size_t j) {
      jet.forward(weights_, x.slice(i, j), v.slice(i, j), first, second);
      jet.backward(weights_, &d_first[i], d_second.empty() ? nullptr : &d_second[i], parts[begin / piece]);
    });
  });
  add_gradient(parts, gradient);
}

std::unique_ptr<Energy> make_mlp(uint32_t dimension, const MlpOptions& options, uint64_t seed) {
  return std::make_unique<MlpEnergy>(dimension, options, seed);
}

std::unique_ptr<Energy> make_mlp(const EnergyRecord& record) { return std::make_unique<MlpEnergy>(record); }

}  // namespace selfnorm
