// The features of a TorchScript module (model/network/feature_network.h), their derivatives by autograd.
#include <fmt/format.h>

#include "model/energy/torchscript.h"
#include "model/neural/torch_rows.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

void check_inputs(const TorchModule& module, const InputRows& x) {
  if (x.categorical > 0) {
    throw Error(
        fmt::format("{}: the module takes numbers alone, found {} categorical inputs; encode them as numbers "
                    "or leave them out",
                    module.name(), x.categorical));
  }
  SELFNORM_CHECK(x.number.columns == module.dimension());
}

class TorchFeaturePass final : public FeaturePass {
 public:
  explicit TorchFeaturePass(const TorchModule& module) : module_(module) {}

  Points forward(const InputRows& x) override {
    check_inputs(module_, x);
    const uint32_t width = module_.width();
    graphs_.assign(units_of(x.number), {});
    h_.resize(x.rows() * width);
    parallel_units(graphs_.size(), [&](size_t unit) {
      graphs_[unit] = module_.output(tensor_of(unit_of(x.number, unit)));
      copy(graphs_[unit].detach(), unit_of(std::span(h_), unit, width));
    });
    return {h_.data(), x.rows(), width};
  }

  void backward(std::span<const float> d, std::span<float> gradient) override {
    SELFNORM_CHECK(d.size() == h_.size() && gradient.size() == module_.flat().size());
    const uint32_t width = module_.width();
    with_torch_errors(module_.name(), "the gradient of the module fails", [&] {
      add_gradients(module_, graphs_.size(), gradient, [&](size_t unit) {
        const std::span<const float> part = unit_of(d, unit, width);
        return derivatives(graphs_[unit], tensor_of(Points{part.data(), part.size() / width, width}),
                           module_.parameters(), false);
      });
    });
  }

 private:
  const TorchModule& module_;
  Tensors graphs_;
  std::vector<float> h_;
};

class TorchFeatures final : public FeatureNetwork {
 public:
  explicit TorchFeatures(TorchModule module) : module_(std::move(module)) {}

  uint32_t inputs() const override { return module_.dimension(); }
  std::vector<uint32_t> levels() const override { return {}; }
  uint32_t width() const override { return module_.width(); }
  std::span<float> parameters() override { return module_.flat(); }
  std::span<const float> parameters() const override { return module_.flat(); }
  void parameters_changed() override { module_.flat_changed(); }
  void set_unseen(const std::vector<std::vector<uint64_t>>&) override {}
  std::unique_ptr<FeaturePass> make_pass() const override {
    return std::make_unique<TorchFeaturePass>(module_);
  }

  void evaluate(const InputRows& x, std::span<float> h) const override {
    check_inputs(module_, x);
    SELFNORM_CHECK(h.size() == x.rows() * width());
    parallel_units(units_of(x.number), [&](size_t unit) {
      const at::NoGradGuard no_gradients;
      copy(module_.output(tensor_of(unit_of(x.number, unit))), unit_of(h, unit, width()));
    });
  }

  EnergyRecord record() const override {
    return {.kind = "torchscript",
            .settings = fmt::format(R"({{"inputs":{}}})", module_.dimension()),
            .tensors = {},
            .module = module_.saved()};
  }

 private:
  TorchModule module_;
};

}  // namespace

}  // namespace selfnorm

extern "C" __attribute__((visibility("default"))) selfnorm::TorchFeaturesFactory SELFNORM_TORCH_FEATURES;

selfnorm::FeatureNetwork* SELFNORM_TORCH_FEATURES(const char* bytes, size_t size, uint32_t inputs,
                                                  const char* name) {
  using namespace selfnorm;
  return new TorchFeatures(TorchModule({bytes, size}, inputs, name, ModuleOutput::features));
}
