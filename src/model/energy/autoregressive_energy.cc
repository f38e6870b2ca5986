#include "model/energy/autoregressive_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/energy/record_reader.h"

namespace selfnorm {
namespace {

constexpr char kAutoregressiveKind[] = "autoregressive";
constexpr uint64_t kFeatureStream = 1, kMixtureStream = 2, kContextStream = 3, kTiltStream = 4,
                   kNormalizerStream = 5;
constexpr double kHeadScale = 0.1;  // of the weights of q's head at their start
constexpr float kLeastBroadScale = 3;
constexpr uint32_t kMostLines = 4096, kWidestLine = 4096, kMostLineComponents = 4096;

void check(const AutoregressiveEnergy::Shape& shape) {
  require_range(shape.dimension >= 1 && shape.dimension <= kMostLines, "columns of an energy",
                shape.dimension, "1 to 4096");
  require_range(!shape.features.empty() && !shape.tilt.empty(), "layers of an energy", 0, "at least 1");
}

RegressorNetworks networks_of(const AutoregressiveEnergy::Shape& shape, uint32_t inputs, uint32_t parameters,
                              uint64_t seed) {
  const auto stream = [seed](uint64_t i) { return RandomStream(seed, i).next(); };
  const auto head = [&](std::vector<uint32_t> widths, double scale, uint64_t own_seed) {
    return std::make_unique<DenseNetwork>(DenseShape{.inputs = shape.features.back(),
                                                     .levels = {},
                                                     .widths = std::move(widths),
                                                     .output_scale = scale},
                                          own_seed);
  };
  RegressorNetworks out;
  out.features =
      make_dense_features({.inputs = inputs, .levels = {}, .widths = shape.features}, stream(kFeatureStream));
  out.mixture_head = head({parameters}, kHeadScale, stream(kMixtureStream));
  out.context = head({shape.tilt.front()}, 1, stream(kContextStream));
  out.tilt = make_conditional_mlp(1, {.widths = shape.tilt}, stream(kTiltStream), /*starts_at_zero=*/true);
  std::vector<uint32_t> widths = shape.normalizer;
  widths.push_back(1);
  out.normalizer = head(std::move(widths), 0, stream(kNormalizerStream));
  return out;
}

std::vector<Regressor> columns_of(const AutoregressiveEnergy::Shape& shape, uint64_t seed) {
  check(shape);
  std::vector<Regressor> out(shape.dimension);
  for (uint32_t i = 0; i < shape.dimension; ++i) {
    out[i].mixture.components = shape.components;
    out[i].tail_weight = shape.tail_weight;
    out[i].members.push_back(
        networks_of(shape, std::max(1u, i), out[i].mixture.parameters(), RandomStream(seed, i).next()));
  }
  return out;
}

FlatParameters blocks_of(std::vector<Regressor>& columns) {
  std::vector<std::span<float>> blocks;
  for (Regressor& column : columns)
    for (const std::span<float> block : column.members[0].parameters()) blocks.push_back(block);
  return FlatParameters(std::move(blocks));
}

AutoregressiveEnergy::Shape shape_of(const EnergyRecord& record) {
  const RecordReader reader(record, "energy", kAutoregressiveKind);
  return {.dimension = reader.whole_number("dimension", 1, kMostLines),
          .features = reader.whole_numbers("features", 1, kWidestLine),
          .tilt = reader.whole_numbers("tilt", 1, kWidestLine),
          .normalizer = reader.whole_numbers("normalizer", 1, kWidestLine),
          .components = reader.whole_number("components", 1, kMostLineComponents),
          .tail_weight = reader.number("tail_weight")};
}

[[noreturn]] void refuse_derivatives() {
  throw_error(
      "an autoregressive energy is trained column by column and drawn from on lines: it has no derivatives "
      "in "
      "x; use `objective snl`, `method auto`");
}

}  // namespace

AutoregressiveEnergy::AutoregressiveEnergy(Shape shape, uint64_t seed)
    : shape_(std::move(shape)),
      lower_(shape_.dimension, -FLT_MAX),
      upper_(shape_.dimension, FLT_MAX),
      broad_(shape_.dimension, kLeastBroadScale),
      columns_(columns_of(shape_, seed)),
      blocks_(blocks_of(columns_)),
      theta_(blocks_.gather()) {
  set_broad_scales();
}

AutoregressiveEnergy::AutoregressiveEnergy(const EnergyRecord& record)
    : AutoregressiveEnergy(shape_of(record), 0) {
  const RecordReader reader(record, "energy", kAutoregressiveKind);
  if (!(shape_.tail_weight > 0 && shape_.tail_weight < 1))
    reader.fail(fmt::format("setting 'tail_weight' is {}, expected between 0 and 1", shape_.tail_weight));
  reader.expect_values(theta_.size() + 3 * size_t{shape_.dimension});
  reader.read("lower", {shape_.dimension}, lower_);
  reader.read("upper", {shape_.dimension}, upper_);
  reader.read("broad", {shape_.dimension}, broad_);
  for (uint32_t i = 0; i < shape_.dimension; ++i)
    if (!(lower_[i] <= upper_[i] && broad_[i] > 0))
      reader.fail(
          fmt::format("column {} is from {} to {} with a scale of {}", i, lower_[i], upper_[i], broad_[i]));
  for (uint32_t i = 0; i < shape_.dimension; ++i) {
    const std::span<float> own = of_column(i, std::span(theta_));
    reader.read(fmt::format("column{}", i), {own.size()}, own);
  }
  set_broad_scales();
  parameters_changed();
}

void AutoregressiveEnergy::set_broad_scales() {
  for (uint32_t i = 0; i < shape_.dimension; ++i)
    columns_[i].mixture.broad_scale = static_cast<double>(broad_[i]);
}

void AutoregressiveEnergy::start_at(const Points& x) {
  SELFNORM_CHECK(x.rows > 0 && x.columns == shape_.dimension);
  std::vector<float> y(x.rows);
  for (uint32_t i = 0; i < shape_.dimension; ++i) {
    for (uint64_t r = 0; r < x.rows; ++r) y[r] = x.row(r)[i];
    const auto [least, most] = std::ranges::minmax(y);
    lower_[i] = least;
    upper_[i] = most;
    broad_[i] = std::max(kLeastBroadScale, std::max(std::abs(least), std::abs(most)) / 2);
    RegressorNetworks& networks = columns_[i].members[0];
    std::ranges::copy(mixture(i).start({y.data(), x.rows, 1}), networks.mixture_head->output_bias().begin());
    networks.mixture_head->parameters_changed();
  }
  set_broad_scales();
  theta_ = blocks_.gather();
}

void AutoregressiveEnergy::parameters_changed() {
  blocks_.scatter(theta_);
  for (Regressor& column : columns_) column.members[0].parameters_changed();
}

std::vector<float> AutoregressiveEnergy::seen(uint32_t column, const Points& x) const {
  const uint32_t width = inputs(column);
  std::vector<float> out(x.rows * width);
  for (uint64_t r = 0; r < x.rows; ++r)
    for (uint32_t j = 0; j < column; ++j) out[r * width + j] = std::clamp(x.row(r)[j], lower_[j], upper_[j]);
  return out;
}

std::unique_ptr<ConditionalScores> AutoregressiveEnergy::line(uint32_t column, const Points& x) const {
  const std::vector<float> in = seen(column, x);
  return prepare_scores(columns_[column], 0, {{in.data(), x.rows, inputs(column)}, nullptr, 0});
}

void AutoregressiveEnergy::score(const Points& x, std::span<double> s) const {
  std::ranges::fill(s, 0.0);
  std::vector<float> y(x.rows);
  std::vector<uint32_t> row(x.rows);
  std::vector<double> own(x.rows);
  for (uint64_t r = 0; r < x.rows; ++r) row[r] = static_cast<uint32_t>(r);
  for (uint32_t i = 0; i < shape_.dimension; ++i) {
    for (uint64_t r = 0; r < x.rows; ++r) y[r] = x.row(r)[i];
    const auto scores = line(i, x);
    scores->score({y.data(), x.rows, 1}, row, own);
    for (uint64_t r = 0; r < x.rows; ++r) s[r] += own[r] - scores->normalizer(r);
  }
}

EnergyRecord AutoregressiveEnergy::record() const {
  EnergyRecord out;
  out.kind = kAutoregressiveKind;
  out.settings = nlohmann::json{{"dimension", shape_.dimension},
                                {"features", shape_.features},
                                {"tilt", shape_.tilt},
                                {"normalizer", shape_.normalizer},
                                {"components", shape_.components},
                                {"tail_weight", shape_.tail_weight}}
                     .dump();
  out.tensors = {{"lower", {shape_.dimension}, lower_},
                 {"upper", {shape_.dimension}, upper_},
                 {"broad", {shape_.dimension}, broad_}};
  for (uint32_t i = 0; i < shape_.dimension; ++i) {
    const std::span<const float> own = of_column(i, std::span<const float>(theta_));
    out.tensors.push_back({fmt::format("column{}", i), {own.size()}, {own.begin(), own.end()}});
  }
  return out;
}

std::unique_ptr<EnergyPass> AutoregressiveEnergy::make_pass() const { refuse_derivatives(); }
void AutoregressiveEnergy::score_gradient(const Points&, std::span<double>, std::span<float>) const {
  refuse_derivatives();
}
void AutoregressiveEnergy::directional(const Points&, const Points&, std::span<double>,
                                       std::span<double>) const {
  refuse_derivatives();
}
void AutoregressiveEnergy::directional_backward(const Points&, const Points&, std::span<const double>,
                                                std::span<const double>, std::span<float>) const {
  refuse_derivatives();
}

}  // namespace selfnorm
