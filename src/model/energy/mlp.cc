#include "model/energy/mlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/range.h"
#include "math/activation.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/energy/mlp_energy.h"
#include "model/energy/mlp_jet.h"
#include "model/energy/mlp_tile.h"
#include "model/energy/record_reader.h"
#include "selfnorm/error.h"

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

using Json = nlohmann::json;

constexpr uint32_t kMostDimensions = 0xFFFFFFFF;

RecordReader reader_of(const EnergyRecord& record) { return {record, "network energy", "mlp"}; }

MlpOptions options_of(const EnergyRecord& record) {
  const RecordReader reader = reader_of(record);
  MlpOptions options;
  options.widths = reader.whole_numbers("widths", 1, 4096);
  options.activation = reader.word("activation");
  options.residual = reader.flag("residual");
  options.spectral_norm = reader.flag("spectral_norm");
  options.fourier = reader.whole_number("fourier", 0, 4096);
  options.fourier_scale = reader.number("fourier_scale");
  options.validate();
  return options;
}

// take(name, shape, place in theta) for every parameter.
template <class Take>
void for_parameters(const MlpShape& shape, const Take& take) {
  if (shape.fourier > 0) take("fourier.weight", std::vector<uint64_t>{shape.fourier, shape.dimension}, 0);
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l];
    take(fmt::format("layer{}.weight", l), std::vector<uint64_t>{layer.out, layer.in}, layer.weight);
    take(fmt::format("layer{}.bias", l), std::vector<uint64_t>{layer.out}, layer.bias);
  }
  take("output.weight", std::vector<uint64_t>{shape.width()}, shape.output);
}

uint64_t elements(const std::vector<uint64_t>& shape) {
  uint64_t n = 1;
  for (const uint64_t s : shape) n *= s;
  return n;
}

MlpShape checked_shape(const EnergyRecord& record) {
  const RecordReader reader = reader_of(record);
  MlpShape shape(reader.whole_number("dimension", 1, kMostDimensions), options_of(record));
  reader.expect_values(shape.parameters);
  return shape;
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

void MlpOptions::validate() const {
  require_range(!widths.empty() && widths.size() <= 16, "number of hidden layers",
                static_cast<double>(widths.size()), "1 to 16");
  for (const uint32_t w : widths)
    require_range(w >= 1 && w <= 4096, "width of a hidden layer", w, "1 to 4096");
  require_one_of("activation", activation, activation_names());
  require_range(fourier <= 4096, "number of Fourier features", fourier, "0 to 4096");
  require_range(fourier_scale > 0, "fourier_scale", fourier_scale, "a number > 0");
}

std::unique_ptr<EnergyPass> MlpEnergy::make_pass() const { return std::make_unique<MlpPass>(*this); }

MlpEnergy::MlpEnergy(const EnergyRecord& record)
    : options_(options_of(record)),
      shape_(checked_shape(record)),
      theta_(shape_.parameters),
      weights_(shape_) {
  const RecordReader reader = reader_of(record);
  for_parameters(shape_, [&](const std::string& name, const std::vector<uint64_t>& shape, size_t place) {
    reader.read(name, shape, std::span<float>(theta_).subspan(place, elements(shape)));
  });
  parameters_changed();
}

EnergyRecord MlpEnergy::record() const {
  EnergyRecord record;
  record.kind = "mlp";
  record.settings = Json{{"dimension", shape_.dimension},           {"widths", options_.widths},
                         {"activation", options_.activation},       {"residual", options_.residual},
                         {"spectral_norm", options_.spectral_norm}, {"fourier", options_.fourier},
                         {"fourier_scale", options_.fourier_scale}}
                        .dump();
  for_parameters(shape_, [&](const std::string& name, const std::vector<uint64_t>& shape, size_t place) {
    const auto begin = theta_.begin() + static_cast<ptrdiff_t>(place);
    record.tensors.push_back({name, shape, {begin, begin + static_cast<ptrdiff_t>(elements(shape))}});
  });
  return record;
}

}  // namespace selfnorm
