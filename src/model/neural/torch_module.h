// A TorchScript module with its trainable parameters as one flat vector.
#pragma once

#include <torch/script.h>

#include <string>
#include <vector>

#include "data/points/points.h"
#include "selfnorm/error.h"

namespace selfnorm {

// Errors of libtorch as selfnorm::Error: the line that says what went wrong, without its backtrace.
//
// The interpreter of TorchScript reports "... Traceback of TorchScript ...\nRuntimeError: what"; everything
// else has its message in the first line.
std::string torch_message(const std::exception& error);

// `action`, whose errors start with "name: what: ".
template <class Action>
auto with_torch_errors(const std::string& name, const char* what, const Action& action) {
  const auto fail = [&](const std::string& message) { throw Error(name + ": " + what + ": " + message); };
  try {
    return action();
  } catch (const Error&) {
    throw;
  } catch (const Bug&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(torch_message(error));
    throw;
  }
}

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
