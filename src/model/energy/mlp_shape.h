// Where the parameters of a network energy are in theta (model/energy/mlp.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "math/activation.h"
#include "model/energy/mlp.h"

namespace selfnorm {

struct MlpLayer {
  uint32_t in, out;
  bool is_residual;
  size_t weight, bias;
};

struct MlpShape {
  uint32_t dimension = 0, fourier = 0;
  Activation activation = Activation::silu;
  std::vector<MlpLayer> layers;
  size_t output = 0;      // where w is
  size_t parameters = 0;  // B is at 0

  MlpShape(uint32_t d, const MlpOptions& options)
      : dimension(d), fourier(options.fourier), activation(activation_of(options.activation)) {
    output = size_t{fourier} * dimension;
    uint32_t in = features();
    for (const uint32_t out : options.widths) {
      const size_t bias = output + size_t{in} * out;
      layers.push_back({in, out, options.residual && !layers.empty() && in == out, output, bias});
      output = bias + out;
      in = out;
    }
    parameters = output + in;
  }

  uint32_t features() const { return dimension + 2 * fourier; }
  uint32_t width() const { return layers.back().out; }
  // Of a_l.
  uint32_t width(size_t l) const { return l == 0 ? features() : layers[l - 1].out; }
};

}  // namespace selfnorm
