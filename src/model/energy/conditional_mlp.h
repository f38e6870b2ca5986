// The network energy of y given a context; model/energy/conditional_energy.h makes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/energy/conditional_energy.h"
#include "model/energy/mlp_energy.h"
#include "model/energy/mlp_rows.h"

namespace selfnorm {

class ConditionalMlp final : public ConditionalEnergy {
 public:
  explicit ConditionalMlp(std::unique_ptr<MlpEnergy> energy) : energy_(std::move(energy)) {}

  uint32_t dimension() const override { return energy_->dimension(); }
  uint32_t context_width() const override { return weights().shape.width(1); }
  std::span<float> parameters() override { return energy_->parameters(); }
  std::span<const float> parameters() const override { return energy_->parameters(); }
  void parameters_changed() override { energy_->parameters_changed(); }
  std::unique_ptr<ConditionalPass> make_pass() const override;
  void score(const ConditionalPoints& at, std::span<double> f) const override;
  void score_gradient(const ConditionalPoints& at, std::span<double> f, std::span<float> dy) const override;
  void directional(const ConditionalPoints& at, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  void directional_backward(const ConditionalPoints& at, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient,
                            std::span<float> d_context) const override;
  EnergyRecord record() const override { return energy_->record(); }

  const MlpWeights& weights() const { return energy_->weights(); }
  const MlpEnergy& energy() const { return *energy_; }
  // The rows of `at`, whose sizes and numbers are checked.
  MlpRows rows(const ConditionalPoints& at) const;

 private:
  std::unique_ptr<MlpEnergy> energy_;
};

// Rows of y with all of their contexts, so that what belongs to a context is written by one unit of work.
struct ContextUnit {
  uint64_t begin, end;                  // of y
  uint32_t first_context, end_context;  // [first, end): those of the y
};

// units <- every y in order; each unit but the last has at least `least` of them, and ends with a context.
void cut_contexts(std::span<const uint32_t> row, uint64_t least, std::vector<ContextUnit>& units);

}  // namespace selfnorm
