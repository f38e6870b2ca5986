// Independent columns: uniform numbers, bits, levels, counts.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

// The uniform distribution on a box: log q = -sum_j log(upper_j - lower_j) inside, -inf outside, where its
// derivatives are 0 as well.
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
// column_moments gives it. Where the space has ends, they are the box's.
std::unique_ptr<UniformBox> fit_uniform_box(const Points& data, const Support& space = {});
// lower, upper
std::unique_ptr<Density> restore_uniform_box(const DensityRecord& record, uint32_t dimension);

// Whole numbers 0, 1, 2, ... of mean `rate` > 0.
double poisson_draw(RandomStream& random, double rate);

// The support of levels: those up to the largest value of each column, at least 2 and at most 65,536. Throws
// Error naming row and column for values that are not whole numbers in that range.
Support level_support(const Points& data);
// The same from "levels" of a record.
Support stored_levels(const DensityRecord& record, uint32_t dimension);

// Levels whose probabilities are functions of logits, which are the parameters.
class LogitProduct : public LearnableDensity {
 public:
  uint32_t dimension() const override { return static_cast<uint32_t>(support_.levels.size()); }
  Support support() const override { return support_; }
  std::vector<double> parameters() const override { return logit_; }
  void set_parameters(std::span<const double> values) override;

 protected:
  explicit LogitProduct(std::vector<double> logit) : logit_(std::move(logit)) {}
  virtual void prepare() = 0;  // after the logits have changed; throws Error unless they are finite

  Support support_;
  std::vector<double> logit_;
};

// Independent bits: log q(x) = sum_j a_j x_j - softplus(a_j), P(x_j = 1) = sigma(a_j). Parameters: the
// logits; d log q / d a_j = x_j - sigma(a_j).
class BernoulliProduct final : public LogitProduct {
 public:
  explicit BernoulliProduct(std::vector<double> logit);  // finite, or Error

  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  DensityRecord record() const override { return {"bernoulli", {{"logit", logit_}}}; }
  void add_gradient(const Points& x, std::span<const double> weight,
                    std::span<double> gradient) const override;

 private:
  void prepare() override;

  std::vector<double> one_;  // sigma(a_j)
  double log_zeros_ = 0;     // log q(0)
};

// Half a row is added to each of 0 and 1. Throws Error for other values.
std::unique_ptr<BernoulliProduct> fit_bernoulli_product(const Points& data);
std::unique_ptr<Density> restore_bernoulli_product(const DensityRecord& record, uint32_t dimension);  // logit

// Independent columns, column j in 0 .. levels_j - 1: q(x) = prod_j softmax(a_j)[x_j]. Parameters: the logits
// a, column after column; d log q / d a_jl = [x_j = l] - softmax(a_j)[l].
class CategoricalProduct final : public LogitProduct {
 public:
  // Throws Error unless every column has at least one level and there is a finite logit for each.
  CategoricalProduct(std::vector<uint32_t> levels, std::vector<double> logit);

  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  DensityRecord record() const override;
  void add_gradient(const Points& x, std::span<const double> weight,
                    std::span<double> gradient) const override;

 private:
  void prepare() override;

  std::vector<size_t> begin_;  // of each column's levels
  std::vector<double> log_share_, cumulative_;
};

// Levels by level_support; half a row is added to each.
std::unique_ptr<CategoricalProduct> fit_categorical_product(const Points& data);
// levels, logit
std::unique_ptr<Density> restore_categorical_product(const DensityRecord& record, uint32_t dimension);

// Independent columns of counts 0, 1, 2, ..., each a negative binomial of mean m and size r (variance
// m + m^2 / r, so wider than a Poisson):
//     log q(k) = log Gamma(k + r) - log Gamma(r) - log k! + r log(r / (r + m)) + k log(m / (r + m)).
// It is a Poisson whose rate is a Gamma of shape r and mean m, and is drawn so.
class CountProduct final : public Density {
 public:
  // Throws Error unless there are as many sizes as means and all are finite and positive.
  CountProduct(std::vector<double> mean, std::vector<double> size);

  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& size() const { return size_; }

  uint32_t dimension() const override { return static_cast<uint32_t>(mean_.size()); }
  Support support() const override { return Support::counts(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  DensityRecord record() const override { return {"counts", {{"mean", mean_}, {"size", size_}}}; }

 private:
  std::vector<double> mean_, size_;
  std::vector<double> log_size_share_, log_mean_share_;  // log(r / (r + m)), log(m / (r + m))
  double constant_ = 0;                                  // of log q(0)
};

// Mean and variance of each column; the variance at least 1.5 times the mean, the mean at least that of one
// count in one more row. Throws Error for values that are not whole numbers in 0 .. 2^24, up to which every
// one of them is a float32.
std::unique_ptr<CountProduct> fit_count_product(const Points& data);
// mean, size
std::unique_ptr<Density> restore_count_product(const DensityRecord& record, uint32_t dimension);

// Whole numbers as sparse rows phi(x): indicators of the levels above 0 of every column, or the counts that
// are not 0. A binary column is one feature, its own value.
class LevelFeatures {
 public:
  LevelFeatures(const Support& support, uint32_t dimension);

  bool is_counts() const { return levels_.empty(); }
  uint32_t columns() const { return static_cast<uint32_t>(begin_.size() - 1); }
  size_t size() const { return begin_.back(); }           // features
  size_t begin(size_t j) const { return begin_[j]; }      // of column j; of the one after the last: size()
  uint32_t levels(size_t j) const { return levels_[j]; }  // levels alone

  // The row's features; false, and nothing, for values outside the support. The memory is the caller's.
  bool sparse(std::span<const float> row, std::vector<uint32_t>& column, std::vector<float>& value) const;
  // The same as numbers, size() of them; the row is inside the support.
  void dense(std::span<const float> row, float* out) const;

 private:
  std::vector<uint32_t> levels_;
  std::vector<size_t> begin_;
};

}  // namespace selfnorm
