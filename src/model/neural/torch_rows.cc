#include "model/neural/torch_rows.h"

namespace selfnorm {

Tensors derivatives(const at::Tensor& value, const at::Tensor& weight, const Tensors& inputs,
                    bool is_differentiable) {
  if (inputs.empty() || !value.requires_grad()) return Tensors(inputs.size());
  return torch::autograd::grad({value}, inputs, {weight}, true, is_differentiable, true);
}

}  // namespace selfnorm
