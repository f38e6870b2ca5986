#include "mlp_gradient.h"

#include <algorithm>

#include "selfnorm/math/kernels.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kBlock = 32;

// to (n x m, rows m apart) += sum over parts of part(p)^T for the columns [begin, end) of part (m x n).
template <class Part>
void add_transposed(size_t parts, const Part& part, size_t m, size_t stride, size_t begin, size_t end,
                    float* to) {
  const size_t columns = end - begin;
  float sum[kBlock][kBlock];
  for (size_t row = 0; row < m; row += kBlock) {
    const size_t rows = std::min(kBlock, m - row);
    for (size_t i = 0; i < rows; ++i) {
      std::copy_n(part(0) + (row + i) * stride + begin, columns, sum[i]);
      for (size_t p = 1; p < parts; ++p)
        add_scaled(1.0f, part(p) + (row + i) * stride + begin, sum[i], columns);
    }
    for (size_t j = 0; j < columns; ++j)
      for (size_t i = 0; i < rows; ++i) to[(begin + j) * m + row + i] += sum[i][j];
  }
}

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

void MlpGradient::add(const MlpShape& shape, std::span<MlpGradient> parts, std::span<float> total) {
  if (parts.empty()) return;
  for (MlpGradient& part : parts) {
    for (size_t l = 0; l < shape.layers.size(); ++l)
      add_scaled(1.0f, part.bias(l), total.data() + shape.layers[l].bias, shape.layers[l].out);
    add_scaled(1.0f, part.output(), total.data() + shape.output, shape.width());
  }
  parallel_ranges(shape.fourier, kBlock, [&](size_t begin, size_t end) {
    add_transposed(
        parts.size(), [&](size_t p) { return parts[p].frequencies(); }, shape.dimension,
        panel_stride(shape.fourier), begin, end, total.data());
  });
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l];
    parallel_ranges(layer.out, kBlock, [&](size_t begin, size_t end) {
      add_transposed(
          parts.size(), [&](size_t p) { return parts[p].weight(l); }, layer.in, panel_stride(layer.out),
          begin, end, total.data() + layer.weight);
    });
  }
}

}  // namespace selfnorm
