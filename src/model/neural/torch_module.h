// A TorchScript module with its trainable parameters as one flat vector.
#pragma once

#include <torch/script.h>

#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

// What a module gives for n rows: n or n x 1 scores (model/energy/torchscript.h), or n x width features
// (model/network/feature_network.h).
enum class ModuleOutput { scores, features };

class TorchModule {
 public:
  // Checks everything those headers promise, on a few points.
  TorchModule(std::string_view bytes, uint32_t dimension, std::string name, ModuleOutput output);

  uint32_t dimension() const { return dimension_; }
  uint32_t width() const { return width_; }  // of features; scores: 1
  const std::string& name() const { return name_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  std::vector<float>& flat() { return flat_; }
  const std::vector<float>& flat() const { return flat_; }
  void flat_changed();  // copies it into the module

  at::Tensor output(const at::Tensor& x) const;  // n x d to n, or n x width
  std::string saved() const;                     // with the current parameters

 private:
  at::Tensor checked_output(const at::Tensor& x) const;
  void check_rows(const at::Tensor& x) const;

  uint32_t dimension_, width_ = 1;
  ModuleOutput kind_;
  std::string name_;
  torch::jit::Module module_;
  std::vector<at::Tensor> parameters_;
  std::vector<float> flat_;
};

}  // namespace selfnorm
