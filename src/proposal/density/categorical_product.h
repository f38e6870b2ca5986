// Independent columns, column j in 0 .. levels_j - 1: q(x) = prod_j softmax(a_j)[x_j]. Parameters: the logits
// a, column after column; d log q / d a_jl = [x_j = l] - softmax(a_j)[l].
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class CategoricalProduct final : public LearnableDensity {
 public:
  // Throws Error unless every column has at least one level and there is a finite logit for each.
  CategoricalProduct(std::vector<uint32_t> levels, std::vector<double> logit);

  uint32_t dimension() const override { return static_cast<uint32_t>(support_.levels.size()); }
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
  std::vector<size_t> begin_;  // of each column's levels
  std::vector<double> logit_, log_share_, cumulative_;
};

// Levels up to the largest value of each column, at least 2 and at most 65,536; half a row is added to each
// level. Throws Error for values that are not whole numbers in that range.
std::unique_ptr<CategoricalProduct> fit_categorical_product(const Points& data);
std::unique_ptr<Density> restore_categorical_product(const DensityRecord& record,
                                                     uint32_t dimension);  // levels, logit

}  // namespace selfnorm
