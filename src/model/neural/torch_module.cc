#include "model/neural/torch_module.h"

#include <ATen/Parallel.h>
#include <cblas.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <sstream>

namespace selfnorm {
namespace {

torch::jit::Module read_module(std::string_view bytes, const std::string& name) {
  openblas_set_num_threads(1);
  at::set_num_threads(1);
  return with_torch_errors(
      name, "not a TorchScript module (expected a file that torch.jit.script(module).save wrote)", [&] {
        std::istringstream stream{std::string(bytes)};
        torch::jit::Module module = torch::jit::load(stream, at::kCPU);
        module.eval();
        module.to(at::kFloat);
        return module;
      });
}

std::string shape_text(const at::Tensor& tensor) {
  std::ostringstream out;
  out << tensor.sizes();
  return out.str();
}

const char* expected(ModuleOutput output) {
  return output == ModuleOutput::scores ? "n or n x 1 float scores" : "n x width float features";
}

}  // namespace

std::string torch_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  for (const std::string mark : {"\nRuntimeError: ", "\ntorch.jit.Error: "}) {
    if (const size_t at = text.rfind(mark); at != std::string::npos) text = text.substr(at + mark.size());
  }
  return text.substr(0, text.find('\n'));
}

TorchModule::TorchModule(std::string_view bytes, uint32_t dimension, std::string name, ModuleOutput output)
    : dimension_(dimension), kind_(output), name_(std::move(name)), module_(read_module(bytes, name_)) {
  if (!module_.find_method("forward")) {
    throw Error(fmt::format("{}: the module has no forward, expected one that maps n x d to {}", name_,
                            expected(kind_)));
  }
  for (const at::Tensor& parameter : module_.parameters()) {
    if (!parameter.requires_grad() || parameter.numel() == 0) continue;
    parameters_.push_back(parameter);
    const at::Tensor values = parameter.detach().contiguous();
    flat_.insert(flat_.end(), values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  }
  if (parameters_.empty() && kind_ == ModuleOutput::scores) {
    throw Error(
        name_ +
        ": the module has no parameters to train; save it before torch.jit.freeze, with requires_grad");
  }
  constexpr int64_t kRows = 3;
  const at::NoGradGuard no_gradients;
  const at::Tensor x =
      at::sin(at::arange(1, kRows * dimension_ + 1, at::kFloat)).reshape({kRows, dimension_});
  if (kind_ == ModuleOutput::features) width_ = static_cast<uint32_t>(checked_output(x).size(1));
  check_rows(x);
}

void TorchModule::flat_changed() {
  const at::NoGradGuard no_gradients;
  const float* values = flat_.data();
  for (at::Tensor& parameter : parameters_) {
    parameter.copy_(at::from_blob(const_cast<float*>(values), parameter.sizes(), at::kFloat));
    values += parameter.numel();
  }
}

// A float tensor with a row for each of x: n, n x 1 or n x any width but 0.
at::Tensor TorchModule::checked_output(const at::Tensor& x) const {
  // A setting of the thread: optimised graphs have other bits than plain ones.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  const auto what = fmt::format("the module fails on {} x {} float32", x.size(0), dimension_);
  return with_torch_errors(name_, what.c_str(), [&] {
    const c10::IValue value = module_.get_method("forward")({x});
    if (!value.isTensor()) {
      throw Error(fmt::format("{}: the module gives {}, expected a tensor of {}", name_, value.tagKind(),
                              expected(kind_)));
    }
    const at::Tensor out = value.toTensor();
    const bool is_good = kind_ == ModuleOutput::scores
                             ? out.dim() == 1 || (out.dim() == 2 && out.size(1) == 1)
                             : out.dim() == 2 && out.size(1) >= 1;
    if (!is_good || out.size(0) != x.size(0) || !out.is_floating_point()) {
      throw Error(fmt::format("{}: the module maps {} to {} of {}, expected {}", name_, shape_text(x),
                              shape_text(out), c10::toString(out.scalar_type()), expected(kind_)));
    }
    return out.to(at::kFloat);
  });
}

at::Tensor TorchModule::output(const at::Tensor& x) const {
  const at::Tensor out = checked_output(x);
  if (kind_ == ModuleOutput::scores) return out.reshape({x.size(0)});
  if (out.size(1) != width_) {
    throw Error(fmt::format("{}: the module maps {} to {}, expected {} features as on loading", name_,
                            shape_text(x), shape_text(out), width_));
  }
  return out;
}

std::string TorchModule::saved() const {
  return with_torch_errors(name_, "the module cannot be saved", [this] {
    std::ostringstream out;
    module_.save(out);
    return out.str();
  });
}

// A few points around the origin, together and one by one: no NaN, a row by itself. Scores may be infinite.
void TorchModule::check_rows(const at::Tensor& x) const {
  const bool is_scores = kind_ == ModuleOutput::scores;
  const at::Tensor together = output(x);
  if (is_scores ? together.isnan().any().item<bool>() : !together.isfinite().all().item<bool>()) {
    throw Error(fmt::format(
        "{}: the {} at points within the unit cube, expected finite ones", name_,
        is_scores ? "scores of the module are NaN" : "features of the module are NaN or infinite"));
  }
  for (int64_t i = 0; i < x.size(0); ++i) {
    const at::Tensor one = output(x.slice(0, i, i + 1)).reshape({-1}), row = together[i].reshape({-1});
    for (int64_t j = 0; j < row.size(0); ++j) {
      const float alone = one[j].item<float>(), beside = row[j].item<float>();
      if (alone == beside || std::abs(alone - beside) <= 1e-3f * (1 + std::abs(beside))) continue;
      throw Error(fmt::format(
          "{}: a {} of a row is {} alone and {} among others; expected {}s of each row by "
          "itself (no statistics over the rows)",
          name_, is_scores ? "score" : "feature", alone, beside, is_scores ? "score" : "feature"));
    }
  }
}

}  // namespace selfnorm
