// Mixtures of trees over levels (Meila & Jordan 2000): q(x) = sum_k w_k prod_j P_k(x_j | x_parent_k(j)),
// every component the tree of largest mutual information (Chow & Liu 1968) of the rows it has a share in.
// Expectation maximisation, started from the shares of a mixture of products. Shares of levels are drawn a
// little to those of all rows: P(b | a) = (n_ab + a0 p[b]) / (n_a + a0), p[b] = (n_b + a0 m[b]) / (n + a0), m
// the shares of all rows with half a row added to each level.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

// One tree: columns in an order in which parents come first.
struct LevelTree {
  struct Node {
    uint32_t column = 0;
    int64_t parent = -1;            // a column; -1: none
    std::vector<double> log_share;  // levels of the parent (1 without) x levels of the column
  };
  std::vector<Node> nodes;
};

class TreeMixture final : public Density {
 public:
  // Throws Error unless every tree has every column once, after its parent, with shares that sum to 1.
  TreeMixture(std::vector<uint32_t> levels, std::vector<double> log_weight, std::vector<LevelTree> trees);

  size_t components() const { return trees_.size(); }
  const LevelTree& tree(size_t k) const { return trees_[k]; }
  const std::vector<double>& log_weight() const { return log_weight_; }

  // log w_k + log P_k(x) of every component; false for a row outside the support.
  bool log_terms(std::span<const float> row, std::span<double> out) const;

  uint32_t dimension() const override { return static_cast<uint32_t>(support_.levels.size()); }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  DensityRecord record() const override;

 private:
  Support support_;
  std::vector<double> logit_, log_weight_, cumulative_;
  std::vector<LevelTree> trees_;
};

struct TreeMixtureOptions {
  uint32_t components = 1;     // >= 1; at most one for 50 rows
  uint64_t iterations = 30;    // at most
  double tolerance = 1e-3;     // stops when an iteration gains less than this per row
  double prior = 1;            // a0 > 0
  uint64_t cells = 4'000'000;  // rows x columns; of more rows a random choice is used
  uint64_t seed = 0;
};

struct TreeFitResult {
  std::unique_ptr<TreeMixture> density;
  std::vector<double> trace;  // the log-likelihood per row, by iteration
};
// Rows of `support`, levels, at most 4,096 above 0 together, of which there is at least one.
TreeFitResult fit_tree_mixture(const Points& data, const Support& support,
                               const TreeMixtureOptions& options = {});

// levels, log_weight; column, parent (components x columns); log_share
std::unique_ptr<Density> restore_tree_mixture(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
