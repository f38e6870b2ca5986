#include "model/energy/zero.h"

#include <algorithm>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

class ZeroPass final : public EnergyPass {
 public:
  std::span<const double> forward(const Points& x) override {
    score_.assign(x.rows, 0);
    return score_;
  }
  void backward(std::span<const double>, std::span<float>) override {}

 private:
  std::vector<double> score_;
};

class ZeroEnergy final : public Energy {
 public:
  explicit ZeroEnergy(uint32_t dimension) : dimension_(dimension) {}

  uint32_t dimension() const override { return dimension_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  std::unique_ptr<EnergyPass> make_pass() const override { return std::make_unique<ZeroPass>(); }
  void score(const Points&, std::span<double> s) const override { std::fill(s.begin(), s.end(), 0); }
  void score_gradient(const Points&, std::span<double> s, std::span<float> dx) const override {
    std::fill(s.begin(), s.end(), 0);
    std::fill(dx.begin(), dx.end(), 0.0f);
  }
  void directional(const Points&, const Points&, std::span<double> first,
                   std::span<double> second) const override {
    std::fill(first.begin(), first.end(), 0);
    std::fill(second.begin(), second.end(), 0);
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {}
  EnergyRecord record() const override {
    return {.kind = "zero", .settings = "{}", .tensors = {{"dimension", {dimension_, 0}, {}}}, .module = {}};
  }

 private:
  uint32_t dimension_;
};

}  // namespace

std::unique_ptr<Energy> make_zero_energy(uint32_t dimension) {
  return std::make_unique<ZeroEnergy>(dimension);
}

std::unique_ptr<Energy> make_zero_energy(const EnergyRecord& record) {
  const bool is_good = record.tensors.size() == 1 && record.tensors[0].shape.size() == 2 &&
                       record.tensors[0].shape[0] > 0 && record.tensors[0].shape[0] <= UINT32_MAX;
  if (!is_good) throw Error("the record of an energy of zero is damaged: it has no dimension");
  return make_zero_energy(static_cast<uint32_t>(record.tensors[0].shape[0]));
}

}  // namespace selfnorm
