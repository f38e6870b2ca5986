// Independent bits: log q(x) = sum_j a_j x_j - softplus(a_j), P(x_j = 1) = sigma(a_j). Parameters: the
// logits; d log q / d a_j = x_j - sigma(a_j).
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class BernoulliProduct final : public LearnableDensity {
 public:
  explicit BernoulliProduct(std::vector<double> logit);  // finite, or Error

  uint32_t dimension() const override { return static_cast<uint32_t>(logit_.size()); }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  // There are no derivatives in x: both throw Bug.
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

  std::vector<double> parameters() const override { return logit_; }
  void set_parameters(std::span<const double> values) override;
  void add_gradient(const Points& x, std::span<const double> weight,
                    std::span<double> gradient) const override;

 private:
  void prepare();

  Support support_;
  std::vector<double> logit_, one_;  // one_j = sigma(a_j)
  double log_zeros_ = 0;             // log q(0)
};

// Half a row is added to each of 0 and 1. Throws Error for other values.
std::unique_ptr<BernoulliProduct> fit_bernoulli_product(const Points& data);
std::unique_ptr<Density> restore_bernoulli_product(const DensityRecord& record, uint32_t dimension);  // logit

}  // namespace selfnorm
