#include "model/network/dense_weights.h"

#include <algorithm>

#include "base/range.h"

namespace selfnorm {
namespace {

DenseShape valid(DenseShape shape) {
  constexpr uint32_t kMost = 1 << 20;
  require_range(shape.inputs <= kMost, "inputs of a network", shape.inputs, "at most 2^20");
  require_range(!shape.widths.empty(), "layers of a network", 0, "at least 1");
  for (const uint32_t width : shape.widths)
    require_range(width >= 1 && width <= kMost, "width of a layer", width, "1 to 2^20");
  for (const uint32_t levels : shape.levels)
    require_range(levels >= 1, "levels of a categorical input", levels, "at least 1");
  require_range(shape.output_scale >= 0, "output_scale", shape.output_scale, "at least 0");
  return shape;
}

}  // namespace

size_t DenseShape::parameters() const {
  size_t sum = 0, in = inputs;
  for (const uint32_t out : widths) {
    sum += (in + 1) * out;
    in = out;
  }
  for (const uint32_t n : levels) sum += size_t{n} * widths.at(0);
  return sum;
}

DenseWeights::DenseWeights(DenseShape s) : shape(valid(std::move(s))), theta(shape.parameters()) {
  size_t place = 0;
  uint32_t in = shape.inputs;
  largest_stride = panel_stride(in);
  for (size_t l = 0; l < shape.widths.size(); ++l) {
    const uint32_t out = shape.widths[l];
    const size_t bias = place + size_t{in} * out;
    const bool is_activated = l + 1 < shape.widths.size() || shape.activates_output;
    layers.push_back({in, out, is_activated, place, bias, Panels(in, out), Panels(out, in)});
    place = bias + out;
    in = out;
    largest_stride = std::max(largest_stride, panel_stride(out));
  }
  for (const uint32_t n : shape.levels) {
    embeddings.push_back(place);
    place += size_t{n} * shape.widths[0];
  }
}

void DenseWeights::pack() {
  for (Layer& layer : layers) {
    const float* w = theta.data() + layer.weight;
    layer.forward.pack_transposed(w, layer.in, 1);
    layer.forward.set_start(theta.data() + layer.bias);
    layer.backward.pack(w, layer.in, 1);
  }
}

}  // namespace selfnorm
