// Rows through a module in units of a fixed size, each one call of the module on one thread, and derivatives
// with respect to its parameters added up in the order of the units.
#pragma once

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "math/parallel.h"
#include "model/neural/torch_module.h"

namespace selfnorm {

inline constexpr size_t kTorchRows = 256;  // in a unit
inline constexpr size_t kTorchWave = 16;   // units whose gradients are in memory at once

using Tensors = std::vector<at::Tensor>;

inline size_t units_of(const Points& x) { return (x.rows + kTorchRows - 1) / kTorchRows; }
inline Points unit_of(const Points& x, size_t unit) {
  return x.slice(unit * kTorchRows, std::min<uint64_t>(x.rows, (unit + 1) * kTorchRows));
}
// Of rows of `width` values.
template <class T>
std::span<T> unit_of(std::span<T> values, size_t unit, size_t width = 1) {
  const size_t begin = unit * kTorchRows * width;
  return values.subspan(begin, std::min(values.size() - begin, kTorchRows * width));
}

inline at::Tensor tensor_of(const Points& x) {
  return at::from_blob(const_cast<float*>(x.data), {static_cast<int64_t>(x.rows), x.columns}, at::kFloat);
}

template <class T>
void copy(const at::Tensor& from, std::span<T> to) {
  at::from_blob(to.data(), from.sizes(), c10::CppTypeToScalarType<T>::value).copy_(from);
}

// d sum_i weight_i value_i / d inputs; undefined where it does not depend on one.
inline Tensors derivatives(const at::Tensor& value, const at::Tensor& weight, const Tensors& inputs,
                           bool is_differentiable) {
  if (inputs.empty() || !value.requires_grad()) return Tensors(inputs.size());
  return torch::autograd::grad({value}, inputs, {weight}, true, is_differentiable, true);
}

// gradient += the sum over units of body(unit), which gives derivatives by every parameter, in order.
template <class Body>
void add_gradients(const TorchModule& module, size_t units, std::span<float> gradient, const Body& body) {
  for (size_t begin = 0; begin < units; begin += kTorchWave) {
    std::vector<Tensors> wave(std::min(kTorchWave, units - begin));
    parallel_units(wave.size(), [&](size_t unit) { wave[unit] = body(begin + unit); });
    for (const Tensors& unit : wave) {
      const at::NoGradGuard no_gradients;
      float* at = gradient.data();
      for (size_t i = 0; i < unit.size(); ++i) {
        const at::Tensor& parameter = module.parameters()[i];
        if (unit[i].defined()) at::from_blob(at, parameter.sizes(), at::kFloat).add_(unit[i]);
        at += parameter.numel();
      }
    }
  }
}

}  // namespace selfnorm
