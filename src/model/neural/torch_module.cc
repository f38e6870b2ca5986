#include "torch_module.h"

#include <ATen/Parallel.h>
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "torch_errors.h"

namespace selfnorm {
namespace {

torch::jit::Module read_module(std::string_view bytes, const std::string& name) {
  openblas_set_num_threads(1);
  at::set_num_threads(1);
  torch::jit::setGraphExecutorOptimize(false);
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

}  // namespace

TorchModule::TorchModule(std::string_view bytes, uint32_t dimension, std::string name)
    : dimension_(dimension), name_(std::move(name)), module_(read_module(bytes, name_)) {
  if (!module_.find_method("forward")) {
    throw Error(name_ + ": the module has no forward, expected one that maps n x d to n scores");
  }
  for (const at::Tensor& parameter : module_.parameters()) {
    if (!parameter.requires_grad() || parameter.numel() == 0) continue;
    parameters_.push_back(parameter);
    const at::Tensor values = parameter.detach().contiguous();
    flat_.insert(flat_.end(), values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  }
  if (parameters_.empty()) {
    throw Error(
        name_ +
        ": the module has no parameters to train; save it before torch.jit.freeze, with requires_grad");
  }
  check_scores();
}

void TorchModule::flat_changed() {
  const at::NoGradGuard no_gradients;
  const float* values = flat_.data();
  for (at::Tensor& parameter : parameters_) {
    parameter.copy_(at::from_blob(const_cast<float*>(values), parameter.sizes(), at::kFloat));
    values += parameter.numel();
  }
}

at::Tensor TorchModule::score(const at::Tensor& x) const {
  const auto what = fmt::format("the module fails on {} x {} float32", x.size(0), dimension_);
  return with_torch_errors(name_, what.c_str(), [&] {
    const c10::IValue value = module_.get_method("forward")({x});
    if (!value.isTensor()) {
      throw Error(fmt::format("{}: the module gives {}, expected a tensor of n or n x 1 scores", name_,
                              value.tagKind()));
    }
    const at::Tensor s = value.toTensor();
    const bool is_column = s.dim() == 2 && s.size(1) == 1;
    if ((s.dim() != 1 && !is_column) || s.size(0) != x.size(0) || !s.is_floating_point()) {
      throw Error(fmt::format("{}: the module maps {} to {} of {}, expected n or n x 1 float scores", name_,
                              shape_text(x), shape_text(s), c10::toString(s.scalar_type())));
    }
    return s.reshape({x.size(0)}).to(at::kFloat);
  });
}

std::string TorchModule::saved() const {
  return with_torch_errors(name_, "the module cannot be saved", [this] {
    std::ostringstream out;
    module_.save(out);
    return out.str();
  });
}

// Scores of a few points around the origin, together and one by one: shapes, NaN, and that a row's score is
// its own.
void TorchModule::check_scores() const {
  constexpr int64_t kRows = 3;
  const at::NoGradGuard no_gradients;
  const at::Tensor x =
      at::sin(at::arange(1, kRows * dimension_ + 1, at::kFloat)).reshape({kRows, dimension_});
  const at::Tensor together = score(x);
  if (together.isnan().any().item<bool>()) {
    throw Error(name_ +
                ": the scores of the module are NaN at points within the unit cube, expected finite ones");
  }
  for (int64_t i = 0; i < kRows; ++i) {
    const float alone = score(x.slice(0, i, i + 1)).item<float>(), beside = together[i].item<float>();
    if (alone == beside || std::abs(alone - beside) <= 1e-3f * (1 + std::abs(beside))) continue;
    throw Error(
        fmt::format("{}: the score of a row is {} alone and {} among others; expected scores of each "
                    "row by itself (no statistics over the rows)",
                    name_, alone, beside));
  }
}

}  // namespace selfnorm
