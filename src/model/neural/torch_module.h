// A TorchScript module with its trainable parameters as one flat vector.
#pragma once

#include <torch/script.h>

#include <span>
#include <string>
#include <vector>

#include "selfnorm/data/points.h"

namespace selfnorm {

class TorchModule {
 public:
  // Checks everything torchscript.h promises, on a few points.
  TorchModule(std::string_view bytes, uint32_t dimension, std::string name);

  uint32_t dimension() const { return dimension_; }
  const std::string& name() const { return name_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  std::vector<float>& flat() { return flat_; }
  const std::vector<float>& flat() const { return flat_; }
  void flat_changed();  // copies it into the module

  at::Tensor score(const at::Tensor& x) const;  // n x d to n
  std::string saved() const;                    // with the current parameters

 private:
  void check_scores() const;

  uint32_t dimension_;
  std::string name_;
  torch::jit::Module module_;
  std::vector<at::Tensor> parameters_;
  std::vector<float> flat_;
};

}  // namespace selfnorm
