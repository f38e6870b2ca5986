// Mixtures of products over whole numbers: q(x) = sum_k w_k prod_j q_kj(x_j), with q_kj the shares of the
// levels of column j, or a Poisson distribution of its counts. With phi(x) the levels above 0 as indicators,
// or the counts themselves, every component is log-linear in a sparse row:
//     log q_k(x) = c_k + phi(x) . M_k + h(x),      h(x) = -sum_j log x_j!  (counts; levels: 0),
//     levels: M_k,jl = log theta_kj[l] - log theta_kj[0],  c_k = log w_k + sum_j log theta_kj[0];
//     counts: M_kj = log rate_kj,                          c_k = log w_k - sum_j rate_kj.
//
// Fitted by expectation maximisation in log space from components around random rows, several times; the most
// likely is kept. Every component is drawn a little to all rows, as if it had seen a more rows with the means
// m_j of phi (half a row added to each level, so that none is 0): mean_kj = (sum_i p_ik phi_ij + a m_j) /
// (n_k + a), w_k = (n_k + 1) / (n + K): the posterior mode, whose value never falls from one iteration to the
// next.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class ProductMixture final : public Density {
 public:
  // `mean` of phi, K x features: theta of the levels above 0, or rates. Throws Error unless all are positive,
  // the shares of a column leave something for level 0, and the sizes agree.
  ProductMixture(Support support, uint32_t dimension, std::vector<double> log_weight,
                 std::vector<double> mean);

  size_t components() const { return log_weight_.size(); }
  const std::vector<double>& log_weight() const { return log_weight_; }

  // p_ik of every row, n x K; the rows are inside the support.
  void shares(const Points& x, std::span<double> out) const;

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  DensityRecord record() const override;

 private:
  friend class ProductFit;
  template <class Body>
  void terms(const Points& x, const Body& body, std::vector<double>& share) const;

  Support support_;
  uint32_t dimension_;
  std::vector<double> logit_, log_weight_, mean_;
  std::vector<double> start_, slope_;  // c (K); M, features x K
  std::vector<double> cumulative_;     // of the weights
};

struct ProductMixtureOptions {
  uint32_t components = 16;    // >= 1; at most one for 20 rows
  uint32_t starts = 1;         // >= 1
  uint64_t iterations = 60;    // of a start, at most
  double tolerance = 2e-4;     // stops when an iteration gains less than this per row
  double prior = 1;            // a > 0
  uint64_t cells = 4'000'000;  // rows x columns; of more rows a random choice is used
  uint64_t seed = 0;
};

struct ProductFitResult {
  std::unique_ptr<ProductMixture> density;
  std::vector<double> trace;  // the log of the posterior per row, by iteration, of the start that was kept
};
// Rows of `support`, levels or counts, of which there is at least one.
ProductFitResult fit_product_mixture(const Points& data, const Support& support,
                                     const ProductMixtureOptions& options = {});

// log_weight, mean; levels, of counts 0.
std::unique_ptr<Density> restore_product_mixture(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
