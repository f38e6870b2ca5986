// N(mean, covariance), the covariance full or diagonal. Parameters: mean, then those of the PrecisionRoot.
//     grad log q = -W'z,  v' Hessian v = -|W v|^2,  d log q / d mean = W'z,  z = W (x - mean)
#pragma once

#include "proposal/density/density.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {

class Gaussian final : public LearnableDensity {
 public:
  Gaussian(std::vector<double> mean, PrecisionRoot root);

  const std::vector<double>& mean() const { return mean_; }
  const PrecisionRoot& root() const { return root_; }

  uint32_t dimension() const override { return root_.dimension(); }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

  std::vector<double> parameters() const override;
  void set_parameters(std::span<const double> values) override;
  void add_gradient(const Points& x, std::span<const double> weight,
                    std::span<double> gradient) const override;

 private:
  std::vector<double> mean_;
  PrecisionRoot root_;
};

// By maximum likelihood, with the ridge of sample_moments.h.
std::unique_ptr<Gaussian> fit_gaussian(const Points& data, PrecisionRoot::Shape shape);
// "gaussian": mean, root (packed rows); "gaussian-diagonal": mean, root (the diagonal).
std::unique_ptr<Density> restore_gaussian(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
