// An energy that tilts a base distribution: s(x) = f(x) + log base(x), so that at f = 0 it is the base
// itself, normalised. The base is fixed.
#pragma once

#include <memory>
#include <utility>

#include "model/energy/energy.h"
#include "proposal/density/density.h"

namespace selfnorm {

class TiltedEnergy final : public Energy {
 public:
  TiltedEnergy(std::unique_ptr<Energy> tilt, std::shared_ptr<const Density> base);

  Energy& tilt() { return *tilt_; }
  const Energy& tilt() const { return *tilt_; }
  const std::shared_ptr<const Density>& base() const { return base_; }

  uint32_t dimension() const override { return tilt_->dimension(); }
  Support support() const override { return base_->support(); }
  std::span<float> parameters() override { return tilt_->parameters(); }
  std::span<const float> parameters() const override { return std::as_const(*tilt_).parameters(); }
  void parameters_changed() override { tilt_->parameters_changed(); }
  std::unique_ptr<EnergyPass> make_pass() const override;
  void score(const Points& x, std::span<double> s) const override;
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override;
  EnergyRecord record() const override { return tilt_->record(); }

 private:
  std::unique_ptr<Energy> tilt_;
  std::shared_ptr<const Density> base_;
};

}  // namespace selfnorm
