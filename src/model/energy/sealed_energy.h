// The energy of a module that is not loaded (EmbeddedCode::seal): its record, and nothing that would run it.
#pragma once

#include "model/energy/energy.h"
#include "selfnorm/error.h"

namespace selfnorm {

class SealedEnergy : public Energy {
 public:
  SealedEnergy(EnergyRecord record, uint32_t dimension) : record_(std::move(record)), dimension_(dimension) {}

  uint32_t dimension() const override { return dimension_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  EnergyRecord record() const override { return record_; }

  std::unique_ptr<EnergyPass> make_pass() const override { refuse(); }
  void score(const Points&, std::span<double>) const override { refuse(); }
  void score_gradient(const Points&, std::span<double>, std::span<float>) const override { refuse(); }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    refuse();
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {
    refuse();
  }

 private:
  [[noreturn]] static void refuse() { throw Bug("a sealed energy was evaluated"); }

  EnergyRecord record_;
  uint32_t dimension_;
};

}  // namespace selfnorm
