// Gaussian kernels of one shape on n centres c_i: q(x) = mean_i N(x; c_i, h^2 S), S the covariance of the
// data. In u = W (x - m) / h, W'W = S^-1, every kernel is a standard normal:
//     log q(x) = log mean_i exp(-|u - u_i|^2 / 2) + log det W - d log h - d/2 log 2 pi.
#pragma once

#include "proposal/density/density.h"
#include "proposal/density/gaussian_terms.h"

namespace selfnorm {

// What the kernels share.
struct KernelShape {
  double bandwidth = 1;  // h > 0, in standard deviations of the data
  std::vector<double> mean;
  PrecisionRoot root;
};

class KernelDensity final : public Density {
 public:
  KernelDensity(KernelShape shape, std::vector<double> centres);

  double bandwidth() const { return shape_.bandwidth; }
  size_t kernels() const { return centres_.size() / dimension(); }

  uint32_t dimension() const override { return shape_.root.dimension(); }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  void whiten(std::span<const float> x, std::span<const double> origin, double* u) const;

  KernelShape shape_;
  std::vector<double> centres_;
  GaussianTerms terms_;
};

// At most 10,000 rows, drawn at random, become centres. Without `bandwidth` (0) it is n^(-1/(d+4)) (Scott
// 1992) times the factor of 0.02 .. 2 under which a fifth of these rows, at most 1,000, is most likely given
// the others.
std::unique_ptr<KernelDensity> fit_kernel_density(const Points& data, double bandwidth, uint64_t seed);
// bandwidth, mean, root, centres
std::unique_ptr<Density> restore_kernel_density(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
