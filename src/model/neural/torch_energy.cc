// The energy of a TorchScript module (model/energy/torchscript.h), its derivatives by autograd.
#include <fmt/format.h>

#include "model/energy/torchscript.h"
#include "model/neural/torch_rows.h"

namespace selfnorm {
namespace {

at::Tensor tensor_of(std::span<const double> values) {
  return at::from_blob(const_cast<double*>(values.data()), {static_cast<int64_t>(values.size())}, at::kDouble)
      .to(at::kFloat);
}

at::Tensor derivative(const at::Tensor& value, const at::Tensor& x, bool is_differentiable) {
  const at::Tensor out = derivatives(value, at::ones_like(value), {x}, is_differentiable)[0];
  return out.defined() ? out : at::zeros_like(x);
}

// s, first = v . ds/dx and second = v' (d2s/dx2) v of a block of rows, with their graphs.
struct AlongDirection {
  at::Tensor first, second;

  AlongDirection(const TorchModule& module, const Points& points, const Points& v, bool needs_second) {
    const at::Tensor x = tensor_of(points).clone().requires_grad_();
    const at::Tensor direction = tensor_of(v);
    first = (derivative(module.output(x), x, true) * direction).sum(1);
    if (needs_second) second = (derivative(first, x, true) * direction).sum(1);
  }
};

class TorchPass final : public EnergyPass {
 public:
  explicit TorchPass(const TorchModule& module) : module_(module) {}

  std::span<const double> forward(const Points& x) override {
    graphs_.assign(units_of(x), {});
    s_.resize(x.rows);
    parallel_units(graphs_.size(), [&](size_t unit) {
      graphs_[unit] = module_.output(tensor_of(unit_of(x, unit)));
      copy(graphs_[unit].detach(), unit_of(std::span(s_), unit));
    });
    return s_;
  }

  void backward(std::span<const double> d, std::span<float> gradient) override {
    with_torch_errors(module_.name(), "the gradient of the module fails", [&] {
      add_gradients(module_, graphs_.size(), gradient, [&](size_t unit) {
        return derivatives(graphs_[unit], tensor_of(unit_of(d, unit)), module_.parameters(), false);
      });
    });
  }

 private:
  const TorchModule& module_;
  Tensors graphs_;
  std::vector<double> s_;
};

class TorchEnergy final : public Energy {
 public:
  explicit TorchEnergy(TorchModule module) : module_(std::move(module)) {}

  uint32_t dimension() const override { return module_.dimension(); }
  std::span<float> parameters() override { return module_.flat(); }
  std::span<const float> parameters() const override { return module_.flat(); }
  void parameters_changed() override { module_.flat_changed(); }
  std::unique_ptr<EnergyPass> make_pass() const override { return std::make_unique<TorchPass>(module_); }

  void score(const Points& x, std::span<double> s) const override {
    parallel_units(units_of(x), [&](size_t unit) {
      const at::NoGradGuard no_gradients;
      copy(module_.output(tensor_of(unit_of(x, unit))), unit_of(s, unit));
    });
  }

  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override {
    by_units(x, [&](size_t unit) {
      const at::Tensor rows = tensor_of(unit_of(x, unit)).clone().requires_grad_();
      const at::Tensor value = module_.output(rows);
      copy(value.detach(), unit_of(s, unit));
      copy(derivative(value, rows, false), dx.subspan(unit * kTorchRows * x.columns, rows.numel()));
    });
  }

  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override {
    by_units(x, [&](size_t unit) {
      const AlongDirection along(module_, unit_of(x, unit), unit_of(v, unit), !second.empty());
      copy(along.first.detach(), unit_of(first, unit));
      if (!second.empty()) copy(along.second.detach(), unit_of(second, unit));
    });
  }

  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override {
    with_torch_errors(module_.name(), kDerivatives, [&] {
      add_gradients(module_, units_of(x), gradient, [&](size_t unit) {
        const AlongDirection along(module_, unit_of(x, unit), unit_of(v, unit), !d_second.empty());
        at::Tensor sum = along.first.dot(tensor_of(unit_of(d_first, unit)));
        if (!d_second.empty()) sum = sum + along.second.dot(tensor_of(unit_of(d_second, unit)));
        return derivatives(sum, at::ones_like(sum), module_.parameters(), false);
      });
    });
  }

  EnergyRecord record() const override {
    return {.kind = "torchscript",
            .settings = fmt::format(R"({{"dimension":{}}})", dimension()),
            .tensors = {},
            .module = module_.saved()};
  }

 private:
  static constexpr const char* kDerivatives = "derivatives of the module fail";

  template <class Body>
  void by_units(const Points& x, const Body& body) const {
    with_torch_errors(module_.name(), kDerivatives, [&] { parallel_units(units_of(x), body); });
  }

  TorchModule module_;
};

}  // namespace

}  // namespace selfnorm

extern "C" __attribute__((visibility("default"))) selfnorm::TorchFactory SELFNORM_TORCH_FACTORY;

selfnorm::Energy* SELFNORM_TORCH_FACTORY(const char* bytes, size_t size, uint32_t dimension,
                                         const char* name) {
  using namespace selfnorm;
  return new TorchEnergy(TorchModule({bytes, size}, dimension, name, ModuleOutput::scores));
}
