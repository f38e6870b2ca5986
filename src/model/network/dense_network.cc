#include "model/network/dense_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/energy/record_reader.h"
#include "network/pass.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostInputs = 1 << 20, kMostEmbedded = 1 << 24, kMostOutputs = 1 << 16;
constexpr size_t kMostLayers = 64, kMostCategorical = 1 << 16;

NetworkPlan dense_plan(const DenseShape& shape) {
  constexpr uint32_t kMost = 1 << 20;
  require_range(shape.inputs <= kMost, "inputs of a network", shape.inputs, "at most 2^20");
  require_range(!shape.widths.empty(), "layers of a network", 0, "at least 1");
  for (const uint32_t width : shape.widths)
    require_range(width >= 1 && width <= kMost, "width of a layer", width, "1 to 2^20");
  for (const uint32_t levels : shape.levels)
    require_range(levels >= 1, "levels of a categorical input", levels, "at least 1");
  require_range(shape.output_scale >= 0, "output_scale", shape.output_scale, "at least 0");
  return {.inputs = shape.inputs,
          .fourier = 0,
          .levels = shape.levels,
          .widths = shape.widths,
          .activation = shape.activation,
          .is_residual = false,
          .is_spectral = false,
          .activates_output = shape.activates_output,
          .has_score = false};
}

DenseShape dense_shape(const RecordReader& reader) {
  DenseShape shape;
  shape.inputs = reader.whole_number("inputs", 0, kMostInputs);
  shape.levels = reader.whole_numbers("levels", 1, kMostEmbedded);
  shape.widths = reader.whole_numbers("widths", 1, kMostOutputs);
  shape.activation = activation_of(reader.word("activation"));
  shape.activates_output = reader.flag("activates_output");
  shape.output_scale = reader.number("output_scale");
  if (shape.widths.empty() || shape.widths.size() > kMostLayers || shape.levels.size() > kMostCategorical)
    reader.fail(fmt::format("it has {} layers and {} categorical inputs, expected 1 to {} and at most {}",
                            shape.widths.size(), shape.levels.size(), kMostLayers, kMostCategorical));
  if (!(shape.output_scale >= 0 && shape.output_scale <= 1e3))
    reader.fail(fmt::format("setting 'output_scale' is {}, expected 0 to 1000", shape.output_scale));
  reader.expect_values(NetworkShape(dense_plan(shape)).parameters);
  return shape;
}

}  // namespace

struct DenseNetwork::State {
  explicit State(DenseShape s) : network(dense_plan(s)), shape(std::move(s)) {}

  Network network;
  DenseShape shape;
};

struct DensePass::Memory {
  NetworkPass<float> pass;
  uint32_t width;
};

DensePass::DensePass(const DenseNetwork& network)
    : memory_(new Memory{NetworkPass<float>(network.state_->network), network.width()}) {}
DensePass::~DensePass() = default;
DensePass::DensePass(DensePass&&) noexcept = default;

Points DensePass::forward(const InputRows& x) {
  return {memory_->pass.forward(x).data(), x.rows(), memory_->width};
}

void DensePass::backward(std::span<const float> d, std::span<float> gradient, std::span<float> dx) {
  memory_->pass.backward(d, gradient, dx);
}

DenseNetwork::DenseNetwork(DenseShape shape, uint64_t seed)
    : state_(std::make_unique<State>(std::move(shape))) {
  Network& network = state_->network;
  const std::vector<NetworkLayer>& layers = network.shape.layers;
  RandomStream random(seed);
  for (const NetworkLayer& layer : layers) {
    const double deviation = (layer.is_activated ? std::sqrt(2.0) : state_->shape.output_scale) /
                             std::sqrt(std::max(1u, layer.in));
    network.draw(random, layer.weight, layer.size(), deviation);
    if (layer.is_activated && &layer == &layers[0]) network.draw(random, layer.bias, layer.out, deviation);
  }
  const size_t width = layers[0].out;
  for (size_t k = 0; k < state_->shape.levels.size(); ++k)
    network.draw(random, network.shape.embeddings[k] + width, (state_->shape.levels[k] - 1) * width, 0.1);
  network.pack();
}

DenseNetwork::DenseNetwork(const EnergyRecord& record, const std::string& what) {
  const RecordReader reader(record, what, "dense");
  state_ = std::make_unique<State>(dense_shape(reader));
  for (const NetworkTensor& t : state_->network.shape.tensors())
    reader.read(t.name, t.sizes, parameters().subspan(t.begin, t.count));
  parameters_changed();
}

DenseNetwork::~DenseNetwork() = default;
DenseNetwork::DenseNetwork(DenseNetwork&&) noexcept = default;

const DenseShape& DenseNetwork::shape() const { return state_->shape; }
std::span<float> DenseNetwork::parameters() { return state_->network.theta; }
std::span<const float> DenseNetwork::parameters() const { return state_->network.theta; }
void DenseNetwork::parameters_changed() { state_->network.pack(); }

std::span<float> DenseNetwork::output_bias() {
  return parameters().subspan(state_->network.shape.layers.back().bias, width());
}

void DenseNetwork::set_unseen(const std::vector<std::vector<uint64_t>>& count) {
  Network& network = state_->network;
  SELFNORM_CHECK(count.size() == network.shape.levels.size());
  const size_t width = network.shape.width(1);
  for (size_t k = 0; k < count.size(); ++k) {
    SELFNORM_CHECK(count[k].size() == network.shape.levels[k]);
    std::vector<double> sum(width);
    double total = 0;
    for (uint32_t level = 0; level < count[k].size(); ++level) {
      const auto weight = static_cast<double>(count[k][level]);
      total += weight;
      for (size_t j = 0; j < width; ++j)
        sum[j] += weight * static_cast<double>(network.embedding(k, level)[j]);
    }
    if (total == 0) continue;
    for (uint32_t level = 0; level < count[k].size(); ++level)
      for (size_t j = 0; count[k][level] == 0 && j < width; ++j)
        network.theta[network.shape.embeddings[k] + level * width + j] = static_cast<float>(sum[j] / total);
  }
}

void DenseNetwork::evaluate(const InputRows& x, std::span<float> out) const {
  selfnorm::evaluate(state_->network, x, out);
}

EnergyRecord DenseNetwork::record() const {
  const DenseShape& s = shape();
  EnergyRecord out;
  out.kind = "dense";
  out.settings = nlohmann::json{{"inputs", s.inputs},
                                {"levels", s.levels},
                                {"widths", s.widths},
                                {"activation", activation_names()[static_cast<size_t>(s.activation)]},
                                {"activates_output", s.activates_output},
                                {"output_scale", s.output_scale}}
                     .dump();
  for (const NetworkTensor& t : state_->network.shape.tensors()) {
    const auto part = parameters().subspan(t.begin, t.count);
    out.tensors.push_back({t.name, t.sizes, {part.begin(), part.end()}});
  }
  return out;
}

std::unique_ptr<FeatureNetwork> make_dense_features(DenseShape shape, uint64_t seed) {
  if (shape.widths.empty()) return make_linear_features(shape.inputs, std::move(shape.levels));
  shape.activates_output = true;
  return std::make_unique<DenseNetwork>(std::move(shape), seed);
}

}  // namespace selfnorm
