// Independent columns of counts 0, 1, 2, ..., each a negative binomial of mean m and size r (variance
// m + m^2 / r, so wider than a Poisson):
//     log q(k) = log Gamma(k + r) - log Gamma(r) - log k! + r log(r / (r + m)) + k log(m / (r + m)).
// It is a Poisson whose rate is a Gamma of shape r and mean m, and is drawn so.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class CountProduct final : public Density {
 public:
  // Throws Error unless there are as many sizes as means and all are finite and positive.
  CountProduct(std::vector<double> mean, std::vector<double> size);

  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& size() const { return size_; }

  uint32_t dimension() const override { return static_cast<uint32_t>(mean_.size()); }
  Support support() const override;
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  // There are no derivatives in x: both throw Bug.
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  std::vector<double> mean_, size_;
  std::vector<double> log_size_share_, log_mean_share_;  // log(r / (r + m)), log(m / (r + m))
  double constant_ = 0;                                  // of log q(0)
};

// Mean and variance of each column; the variance at least 1.5 times the mean, the mean at least that of one
// count in one more row. Throws Error for values that are not whole numbers in 0 .. 2^24, up to which every
// one of them is a float32.
std::unique_ptr<CountProduct> fit_count_product(const Points& data);
std::unique_ptr<Density> restore_count_product(const DensityRecord& record,
                                               uint32_t dimension);  // mean, size

}  // namespace selfnorm
