// The uniform distribution on a box: log q = -sum_j log(upper_j - lower_j) inside, -inf outside, where its
// derivatives are 0 as well.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class UniformBox final : public Density {
 public:
  // Bounds that float32 holds, lower < upper, finite; throws Error otherwise.
  UniformBox(std::vector<double> lower, std::vector<double> upper);

  uint32_t dimension() const override { return static_cast<uint32_t>(support_.lower.size()); }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  Support support_;
  double log_inside_ = 0;
};

// The range of every column, wider by a tenth on each side; a constant column by the scale that
// sample_moments.h gives it.
std::unique_ptr<UniformBox> fit_uniform_box(const Points& data);
std::unique_ptr<Density> restore_uniform_box(const DensityRecord& record,
                                             uint32_t dimension);  // lower, upper

}  // namespace selfnorm
