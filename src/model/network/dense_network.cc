#include "model/network/dense_network.h"

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "model/network/dense_rows.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kDenseUnitRows = 4 * kDenseRows;  // of work that keeps nothing
constexpr size_t kMostParts = 16;                  // of a gradient

void check_inputs(const DenseWeights& weights, const InputRows& x) {
  SELFNORM_CHECK(x.number.columns == weights.shape.inputs);
  SELFNORM_CHECK(x.categorical == weights.shape.levels.size());
}

// The place where piece k of n equal ones begins.
size_t piece_begin(size_t size, size_t n, size_t k) { return size * k / n; }

}  // namespace

struct DensePass::Memory {
  struct Part {
    DenseGradient gradient;
    DenseBlock::Scratch scratch;
  };

  explicit Memory(const DenseWeights& w) : weights(w) {}

  const DenseWeights& weights;
  size_t rows = 0, used = 0;  // used: blocks of the last forward
  std::vector<DenseBlock> blocks;
  std::vector<Part> parts;
  std::vector<float> out;
};

DensePass::DensePass(const DenseNetwork& network) : memory_(std::make_unique<Memory>(*network.weights_)) {}
DensePass::~DensePass() = default;
DensePass::DensePass(DensePass&&) noexcept = default;

Points DensePass::forward(const InputRows& x) {
  Memory& m = *memory_;
  check_inputs(m.weights, x);
  const uint32_t outputs = m.weights.shape.widths.back();
  m.rows = x.rows();
  m.used = std::max<size_t>(m.rows / kDenseRows, m.rows > 0);
  m.out.resize(m.rows * outputs);
  if (m.blocks.size() < m.used) m.blocks.resize(m.used);
  parallel_units(m.used, [&](size_t k) {
    const size_t begin = piece_begin(m.rows, m.used, k), end = piece_begin(m.rows, m.used, k + 1);
    m.blocks[k].forward(m.weights, x.slice(begin, end), m.out.data() + begin * outputs);
  });
  return {m.out.data(), m.rows, outputs};
}

void DensePass::backward(std::span<const float> d, std::span<float> gradient, std::span<float> dx) {
  Memory& m = *memory_;
  const size_t inputs = m.weights.shape.inputs, outputs = m.weights.shape.widths.back();
  SELFNORM_CHECK(d.size() == m.rows * outputs && gradient.size() == m.weights.theta.size());
  SELFNORM_CHECK(dx.empty() || dx.size() == m.rows * inputs);
  if (m.rows == 0) return;
  const size_t parts = std::min(m.used, kMostParts);
  while (m.parts.size() < parts) m.parts.push_back({DenseGradient(m.weights), {}});
  parallel_units(parts, [&](size_t p) {
    Memory::Part& part = m.parts[p];
    part.gradient.clear();
    for (size_t k = piece_begin(m.used, parts, p); k < piece_begin(m.used, parts, p + 1); ++k) {
      const size_t begin = piece_begin(m.rows, m.used, k);
      m.blocks[k].backward(m.weights, d.data() + begin * outputs, part.scratch, part.gradient,
                           dx.empty() ? nullptr : dx.data() + begin * inputs);
    }
  });
  for (size_t p = 1; p < parts; ++p) m.parts[0].gradient.add(m.parts[p].gradient);
  m.parts[0].gradient.add_to(m.weights, gradient);
  for (size_t k = 0; k < m.used; ++k) m.blocks[k].add_embedding_gradient(m.weights, gradient);
}

DenseNetwork::DenseNetwork(DenseShape shape, uint64_t seed)
    : weights_(std::make_unique<DenseWeights>(std::move(shape))) {
  DenseWeights& weights = *weights_;
  RandomStream random(seed);
  const auto draw = [&](size_t begin, size_t n, double deviation) {
    for (size_t i = 0; i < n; ++i) weights.theta[begin + i] = static_cast<float>(deviation * random.normal());
  };
  for (const DenseWeights::Layer& layer : weights.layers) {
    const double deviation = layer.is_activated ? std::sqrt(2.0) : weights.shape.output_scale;
    draw(layer.weight, size_t{layer.in} * layer.out, deviation / std::sqrt(std::max(1u, layer.in)));
    if (layer.is_activated && &layer == &weights.layers[0])
      draw(layer.bias, layer.out, deviation / std::sqrt(std::max(1u, layer.in)));
  }
  const size_t width = weights.layers[0].out;
  for (size_t k = 0; k < weights.embeddings.size(); ++k)
    draw(weights.embeddings[k] + width, (weights.shape.levels[k] - 1) * width, 0.1);
  weights.pack();
}

DenseNetwork::~DenseNetwork() = default;
DenseNetwork::DenseNetwork(DenseNetwork&&) noexcept = default;

const DenseShape& DenseNetwork::shape() const { return weights_->shape; }
std::span<float> DenseNetwork::parameters() { return weights_->theta; }
std::span<const float> DenseNetwork::parameters() const { return weights_->theta; }
void DenseNetwork::parameters_changed() { weights_->pack(); }

std::span<float> DenseNetwork::output_bias() {
  return parameters().subspan(weights_->layers.back().bias, outputs());
}

void DenseNetwork::set_unseen(const std::vector<std::vector<uint64_t>>& count) {
  DenseWeights& weights = *weights_;
  SELFNORM_CHECK(count.size() == weights.shape.levels.size());
  const size_t width = weights.layers[0].out;
  for (size_t k = 0; k < count.size(); ++k) {
    SELFNORM_CHECK(count[k].size() == weights.shape.levels[k]);
    std::vector<double> sum(width);
    double total = 0;
    for (uint32_t level = 0; level < count[k].size(); ++level) {
      const auto weight = static_cast<double>(count[k][level]);
      total += weight;
      for (size_t j = 0; j < width; ++j)
        sum[j] += weight * static_cast<double>(weights.embedding(k, level)[j]);
    }
    if (total == 0) continue;
    for (uint32_t level = 0; level < count[k].size(); ++level)
      for (size_t j = 0; count[k][level] == 0 && j < width; ++j)
        weights.theta[weights.embeddings[k] + level * width + j] = static_cast<float>(sum[j] / total);
  }
}

void DenseNetwork::evaluate(const InputRows& x, std::span<float> out) const {
  const DenseWeights& weights = *weights_;
  check_inputs(weights, x);
  SELFNORM_CHECK(out.size() == x.rows() * outputs());
  parallel_ranges(x.rows(), kDenseUnitRows, [&](size_t begin, size_t end) {
    const size_t size = std::min(kDenseRows, end - begin) * weights.largest_stride;
    AlignedFloats memory(2 * size);
    std::vector<DenseLayerRows> layers(weights.layers.size());
    for (size_t l = 0; l < layers.size(); ++l) layers[l] = {memory.data() + (l % 2) * size, nullptr};
    for (size_t i = begin; i < end; i += kDenseRows)
      dense_forward(weights, x.slice(i, std::min(end, i + kDenseRows)), layers, out.data() + i * outputs());
  });
}

}  // namespace selfnorm
