// The network energy itself; model/energy/mlp.h makes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/energy/energy.h"
#include "model/energy/mlp_tile.h"
#include "model/energy/mlp_weights.h"

namespace selfnorm {

class MlpEnergy final : public Energy {
 public:
  MlpEnergy(uint32_t dimension, const MlpOptions& options, uint64_t seed);
  explicit MlpEnergy(const EnergyRecord& record);

  uint32_t dimension() const override { return shape_.dimension; }
  std::span<float> parameters() override { return theta_; }
  std::span<const float> parameters() const override { return theta_; }
  void parameters_changed() override;
  std::unique_ptr<EnergyPass> make_pass() const override;
  void score(const Points& x, std::span<double> s) const override;
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override;
  EnergyRecord record() const override;

  const MlpWeights& weights() const { return weights_; }
  // gradient += the sum of the parts, which are by the weights divided by sigma.
  void add_gradient(std::span<MlpGradient> parts, std::span<float> gradient) const;

 private:
  std::span<const float> weight(size_t l) const;

  MlpOptions options_;
  MlpShape shape_;
  std::vector<float> theta_;
  std::vector<SpectralNorm> spectral_;  // of every layer; empty without spectral_norm
  MlpWeights weights_;
};

// Rows in pieces, each with its own part of the gradient: at most 16 pieces, and fewer where the parts would
// take more than 2^26 floats.
size_t gradient_piece(uint64_t rows, size_t parameters);

}  // namespace selfnorm
