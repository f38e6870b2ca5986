#include "mlp_gradient.h"

#include <algorithm>

#include "selfnorm/math/kernels.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kColumns = 32, kGrain = 8192;

}  // namespace

MlpGradient::MlpGradient(const MlpShape& shape) {
  size_t size = shape.dimension * panel_stride(shape.fourier);
  for (const MlpLayer& layer : shape.layers) {
    place_.push_back(size);
    size += layer.in * panel_stride(layer.out);
    bias_.push_back(size);
    size += whole_panels(layer.out);
  }
  output_ = size;
  values_ = AlignedFloats(size + whole_panels(shape.width()));
}

void MlpGradient::clear() { std::fill_n(values_.data(), values_.size(), 0.0f); }

void MlpGradient::add_contexts_to_bias(const MlpShape& shape, size_t begin, size_t end) {
  const size_t width = shape.width(1);
  for (size_t r = begin; r < end; ++r) add_scaled(1.0f, context + r * width, bias(0), width);
}

void MlpGradient::add(const MlpShape& shape, std::span<MlpGradient> parts, std::span<float> total) {
  if (parts.empty()) return;
  MlpGradient& sum = parts[0];
  parallel_ranges(sum.values_.size(), kGrain, [&](size_t begin, size_t end) {
    for (const MlpGradient& part : parts.subspan(1))
      add_scaled(1.0f, part.values_.data() + begin, sum.values_.data() + begin, end - begin);
  });
  add_transposed(shape.dimension, shape.fourier, sum.frequencies(), panel_stride(shape.fourier),
                 total.data());
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l];
    parallel_ranges(layer.out, kColumns, [&](size_t begin, size_t end) {
      add_transposed(layer.in, end - begin, sum.weight(l) + begin, panel_stride(layer.out),
                     total.data() + layer.weight + begin * layer.in);
    });
    add_scaled(1.0f, sum.bias(l), total.data() + layer.bias, layer.out);
  }
  add_scaled(1.0f, sum.output(), total.data() + shape.output, shape.width());
}

}  // namespace selfnorm
