// q(x) = sum_k w_k N(x; m_k, S_k) with full covariances. With a defensive share e > 0 the last component is
// fixed: w = e, so that q never falls below e times it; the others share 1 - e by the softmax of their
// logits. Parameters: those logits, then the mean and the PrecisionRoot of each component that is not fixed.
#pragma once

#include "proposal/density/density.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/make_density.h"

namespace selfnorm {

struct MixtureComponents {
  std::vector<double> logit;         // of the components that are not defensive
  std::vector<double> mean;          // of all, K x d
  std::vector<PrecisionRoot> roots;  // of all, full
};

class GaussianMixture final : public LearnableDensity {
 public:
  // Throws Error unless defensive is in [0, 0.5] and the sizes agree.
  GaussianMixture(MixtureComponents components, double defensive);

  const MixtureComponents& components() const { return components_; }
  const std::vector<double>& log_weight() const { return log_weight_; }
  double defensive() const { return defensive_; }

  uint32_t dimension() const override { return components_.roots.front().dimension(); }
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
  void prepare();

  MixtureComponents components_;
  double defensive_;
  std::vector<double> log_weight_, cumulative_;
  GaussianTerms terms_;
};

// By mixture_em.h, and the defensive component of `options` around the mean of all rows, its covariance
// theirs times defensive_scale^2.
std::unique_ptr<GaussianMixture> fit_gaussian_mixture(const Points& data, uint32_t components,
                                                      const FitOptions& options);
// logit, mean, root (packed rows, one component after the other), defensive.
std::unique_ptr<Density> restore_gaussian_mixture(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
