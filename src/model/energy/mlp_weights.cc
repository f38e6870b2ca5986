#include "mlp_weights.h"

#include <algorithm>

#include "selfnorm/math/kernels.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {

MlpWeights::MlpWeights(const MlpShape& s)
    : shape(s),
      frequencies(s.dimension, s.fourier),
      from_phases(s.fourier, s.dimension),
      from_inputs(s.layers[0].out, s.dimension) {
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const MlpLayer& layer = s.layers[l];
    layers.push_back(
        {Panels(layer.in, layer.out), Panels(layer.out, l == 0 ? layer.in - s.dimension : layer.in)});
  }
}

void MlpWeights::assign(std::span<const float> theta, std::span<const double> sigma) {
  output = theta.data() + shape.output;
  frequencies.pack_transposed(theta.data(), shape.dimension, 1);
  from_phases.pack(theta.data(), shape.dimension, 1);
  const auto factor = [&](size_t l) { return static_cast<float>(1 / sigma[l]); };
  from_inputs.pack(theta.data() + shape.layers[0].weight, shape.layers[0].in, factor(0));
  parallel_units(2 * layers.size(), [&](size_t unit) {
    const size_t l = unit / 2;
    const MlpLayer& layer = shape.layers[l];
    const float* w = theta.data() + layer.weight;
    if (unit % 2 == 0) {
      layers[l].forward.pack_transposed(w, layer.in, factor(l));
      layers[l].forward.set_start(theta.data() + layer.bias);
    } else {
      layers[l].backward.pack(w + (l == 0 ? shape.dimension : 0), layer.in, factor(l));
    }
  });
}

void MlpWeights::first_layer(const MlpRows& rows, const float* a, float* start, float* z) const {
  const Panels& w = layers[0].forward;
  const size_t in = panel_stride(shape.features()), out = panel_stride(w.n());
  if (rows.row == nullptr) return panel_product(rows.x.rows, a, in, w, z, out);
  for_contexts(rows, [&](size_t begin, size_t end, size_t r) {
    std::copy_n(w.start(), w.n(), start);
    add_scaled(1.0f, rows.context.row(r).data(), start, w.n());
    panel_product_from(start, end - begin, a + begin * in, in, w, z + begin * out, out);
  });
}

}  // namespace selfnorm
