#include "proposal/density/tree_mixture.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/random.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/product_mixture.h"
#include "proposal/density/products.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsOfTree = 50;
constexpr uint64_t kTreeStream = 0x74726565;  // "tree"
constexpr size_t kTreeTile = 512, kTreePieces = 8;
constexpr double kShareError = 1e-6;

// Expected counts of one component: n, and n_fg of pairs of levels above 0 (features x features).
struct PairCounts {
  double rows = 0;
  std::vector<float> pair;
};

class TreeFit {
 public:
  TreeFit(const Points& data, const Support& support, const TreeMixtureOptions& options)
      : data_(data),
        support_(support),
        features_(support, data.columns),
        options_(options),
        dense_(data.rows * features_.size()),
        pooled_(features_.size()) {
    for (uint64_t i = 0; i < data.rows; ++i) {
      float* row = dense_.data() + i * features_.size();
      features_.dense(data.row(i), row);
      for (size_t f = 0; f < features_.size(); ++f) pooled_[f] += static_cast<double>(row[f]);
    }
    for (size_t j = 0; j < data.columns; ++j)
      for (size_t f = features_.begin(j); f < features_.begin(j + 1); ++f)
        pooled_[f] = (pooled_[f] + 0.5) / (static_cast<double>(data.rows) + 0.5 * features_.levels(j));
  }

  TreeFitResult run(uint32_t components) const {
    std::vector<double> share(data_.rows * components, 1);
    if (components > 1) {
      const auto start = fit_product_mixture(
          data_, support_, {.components = components, .iterations = 20, .seed = options_.seed});
      start.density->shares(data_, share);
      components = static_cast<uint32_t>(start.density->components());
    }
    TreeFitResult out;
    for (uint64_t i = 0;; ++i) {
      out.density = maximised(share, components);
      const double likelihood = fill_shares(*out.density, share);
      out.trace.push_back(likelihood / static_cast<double>(data_.rows));
      const size_t last = out.trace.size() - 1;
      if (components == 1 || i == options_.iterations ||
          (last > 0 && out.trace[last] - out.trace[last - 1] < options_.tolerance))
        return out;
    }
  }

 private:
  double fill_shares(const TreeMixture& q, std::vector<double>& share) const {
    const size_t k = q.components();
    return ordered_sum(data_.rows, (data_.rows + kTreePieces - 1) / kTreePieces,
                       [&](size_t begin, size_t end) {
                         double sum = 0;
                         for (size_t i = begin; i < end; ++i) {
                           const std::span<double> own = std::span(share).subspan(i * k, k);
                           SELFNORM_CHECK(q.log_terms(data_.row(i), own));
                           const LogSumExp total = exp_in_place(own.data(), k);
                           scale(1 / total.sum, own.data(), k);
                           sum += total.value();
                         }
                         return sum;
                       });
  }

  std::unique_ptr<TreeMixture> maximised(const std::vector<double>& share, uint32_t components) const {
    std::vector<double> log_weight(components);
    std::vector<LevelTree> trees(components);
    parallel_units(components, [&](size_t k) {
      const PairCounts counts = count(share, k, components);
      log_weight[k] = std::log(counts.rows + 1);
      trees[k] = tree_of(counts);
    });
    return std::make_unique<TreeMixture>(support_.levels, std::move(log_weight), std::move(trees));
  }

  PairCounts count(const std::vector<double>& share, size_t k, size_t components) const {
    const size_t width = features_.size();
    PairCounts out{0, std::vector<float>(width * width)};
    std::vector<float> weighted(kTreeTile * width);
    for (uint64_t first = 0; first < data_.rows; first += kTreeTile) {
      const size_t n = std::min<uint64_t>(kTreeTile, data_.rows - first);
      const float* rows = dense_.data() + first * width;
      for (size_t i = 0; i < n; ++i) {
        const double p = share[(first + i) * components + k];
        out.rows += p;
        for (size_t f = 0; f < width; ++f)
          weighted[i * width + f] = static_cast<float>(p) * rows[i * width + f];
      }
      gemm_transposed(width, width, n, rows, width, weighted.data(), width, out.pair.data(), width);
    }
    return out;
  }

  // n_ab of columns i and j: levels of i x levels of j, 0 included.
  void joint(const PairCounts& counts, size_t i, size_t j, std::vector<double>& out) const {
    const size_t width = features_.size(), a = features_.levels(i), b = features_.levels(j);
    const auto at = [&](size_t f, size_t g) { return static_cast<double>(counts.pair[f * width + g]); };
    const size_t fi = features_.begin(i) - 1, fj = features_.begin(j) - 1;  // of level 0, which has none
    out.assign(a * b, 0);
    double& corner = out[0] = counts.rows;
    for (size_t l = 1; l < a; ++l) corner -= out[l * b] = at(fi + l, fi + l);
    for (size_t m = 1; m < b; ++m) corner -= out[m] = at(fj + m, fj + m);
    for (size_t l = 1; l < a; ++l)
      for (size_t m = 1; m < b; ++m) {
        const double n = out[l * b + m] = at(fi + l, fj + m);
        out[l * b] -= n;
        out[m] -= n;
        corner += n;
      }
    for (double& n : out) n = std::max(n, 0.0);  // what rounding left
  }

  // Shares of column j, smoothed.
  std::vector<double> marginal(const PairCounts& counts, size_t j) const {
    std::vector<double> out(features_.levels(j));
    double rest = 1;
    for (size_t l = 1; l < out.size(); ++l) {
      const size_t f = features_.begin(j) + l - 1;
      out[l] = (static_cast<double>(counts.pair[f * features_.size() + f]) + options_.prior * pooled_[f]) /
               (counts.rows + options_.prior);
      rest -= out[l];
    }
    out[0] = std::max(rest, 1e-12);
    return out;
  }

  double information(const PairCounts& counts, size_t i, size_t j, std::vector<double>& memory) const {
    joint(counts, i, j, memory);
    const size_t a = features_.levels(i), b = features_.levels(j);
    std::vector<double> row(a), column(b);
    double total = 0;
    for (size_t l = 0; l < a; ++l)
      for (size_t m = 0; m < b; ++m) {
        row[l] += memory[l * b + m];
        column[m] += memory[l * b + m];
        total += memory[l * b + m];
      }
    double sum = 0;
    for (size_t l = 0; l < a; ++l)
      for (size_t m = 0; m < b; ++m)
        if (const double n = memory[l * b + m]; n > 0) sum += n * std::log(n * total / (row[l] * column[m]));
    return sum;
  }

  // Prim's algorithm from column 0.
  LevelTree tree_of(const PairCounts& counts) const {
    const size_t d = features_.columns();
    std::vector<double> best(d, -1), memory;
    std::vector<int64_t> parent(d, -1);
    std::vector<bool> is_in(d);
    LevelTree tree;
    for (size_t step = 0, next = 0; step < d; ++step) {
      is_in[next] = true;
      tree.nodes.push_back(node(counts, next, parent[next]));
      const size_t from = next;
      double most = -kInfinity;
      for (size_t j = 0; j < d; ++j) {
        if (is_in[j]) continue;
        if (const double gain = information(counts, from, j, memory); parent[j] < 0 || gain > best[j]) {
          best[j] = gain;
          parent[j] = static_cast<int64_t>(from);
        }
        if (best[j] > most) {
          most = best[j];
          next = j;
        }
      }
    }
    return tree;
  }

  LevelTree::Node node(const PairCounts& counts, size_t j, int64_t parent) const {
    const std::vector<double> own = marginal(counts, j);
    LevelTree::Node out{static_cast<uint32_t>(j), parent, {}};
    if (parent < 0) {
      for (const double p : own) out.log_share.push_back(std::log(p));
      return out;
    }
    std::vector<double> pair;
    joint(counts, static_cast<size_t>(parent), j, pair);
    for (size_t begin = 0; begin < pair.size(); begin += own.size()) {
      double total = options_.prior;
      for (size_t m = 0; m < own.size(); ++m) total += pair[begin + m];
      for (size_t m = 0; m < own.size(); ++m)
        out.log_share.push_back(std::log((pair[begin + m] + options_.prior * own[m]) / total));
    }
    return out;
  }

  const Points& data_;
  const Support& support_;
  LevelFeatures features_;
  const TreeMixtureOptions& options_;
  std::vector<float> dense_;
  std::vector<double> pooled_;
};

}  // namespace

TreeMixture::TreeMixture(std::vector<uint32_t> levels, std::vector<double> log_weight,
                         std::vector<LevelTree> trees)
    : logit_(std::move(log_weight)), log_weight_(log_shares(logit_)), trees_(std::move(trees)) {
  support_.space = Support::Space::levels;
  support_.levels = std::move(levels);
  const auto require = [](bool good, const char* what) {
    if (!good) throw_error("a mixture of trees {}", what);
  };
  require(!trees_.empty() && trees_.size() == log_weight_.size(), "needs as many weights as trees");
  double below = 0;
  for (const double w : log_weight_) {
    require(std::isfinite(w), "has a weight that is not finite");
    cumulative_.push_back(below += std::exp(w));
  }
  cumulative_.back() = kInfinity;
  for (const LevelTree& tree : trees_) {
    require(tree.nodes.size() == dimension(), "has a tree without all columns");
    std::vector<bool> is_seen(dimension());
    for (const LevelTree::Node& node : tree.nodes) {
      require(node.column < dimension() && !is_seen[node.column], "has a column twice");
      require(node.parent < static_cast<int64_t>(dimension()) &&
                  (node.parent < 0 || is_seen[static_cast<size_t>(node.parent)]),
              "has a column before its parent");
      is_seen[node.column] = true;
      const size_t own = support_.levels[node.column];
      const size_t rows = node.parent < 0 ? 1 : support_.levels[static_cast<size_t>(node.parent)];
      require(node.log_share.size() == rows * own, "has a column with too many or too few shares");
      for (size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (size_t l = 0; l < own; ++l) sum += std::exp(node.log_share[r * own + l]);
        require(std::abs(sum - 1) < kShareError, "has shares of levels that do not sum to 1");
      }
    }
  }
}

bool TreeMixture::log_terms(std::span<const float> row, std::span<double> out) const {
  if (!contains(support_, row)) return false;
  for (size_t k = 0; k < trees_.size(); ++k) {
    double sum = log_weight_[k];
    for (const LevelTree::Node& node : trees_[k].nodes) {
      const size_t own = support_.levels[node.column];
      const size_t above = node.parent < 0 ? 0 : static_cast<size_t>(row[static_cast<size_t>(node.parent)]);
      sum += node.log_share[above * own + static_cast<size_t>(row[node.column])];
    }
    out[k] = sum;
  }
  return true;
}

void TreeMixture::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> term(components());
  for (uint64_t i = 0; i < x.rows; ++i)
    out[i] = log_terms(x.row(i), term) ? exp_in_place(term.data(), term.size()).value() : -kInfinity;
}

void TreeMixture::sample(RandomStream& random, std::span<float> rows) const {
  for (size_t begin = 0; begin < rows.size(); begin += dimension()) {
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform());
    for (const LevelTree::Node& node : trees_[static_cast<size_t>(place - cumulative_.begin())].nodes) {
      const size_t own = support_.levels[node.column];
      const size_t above =
          node.parent < 0 ? 0 : static_cast<size_t>(rows[begin + static_cast<size_t>(node.parent)]);
      double left = random.uniform();
      size_t level = own - 1;  // takes what rounding leaves
      for (size_t l = 0; l + 1 < own; ++l)
        if ((left -= std::exp(node.log_share[above * own + l])) < 0) {
          level = l;
          break;
        }
      rows[begin + node.column] = static_cast<float>(level);
    }
  }
}

DensityRecord TreeMixture::record() const {
  DensityRecord record{"trees", {{"log_weight", logit_}}};
  record.values["levels"] = {support_.levels.begin(), support_.levels.end()};
  for (const LevelTree& tree : trees_)
    for (const LevelTree::Node& node : tree.nodes) {
      record.values["column"].push_back(node.column);
      record.values["parent"].push_back(static_cast<double>(node.parent));
      std::vector<double>& shares = record.values["log_share"];
      shares.insert(shares.end(), node.log_share.begin(), node.log_share.end());
    }
  return record;
}

std::unique_ptr<Density> restore_tree_mixture(const DensityRecord& record, uint32_t dimension) {
  const std::vector<uint32_t> levels = stored_levels(record, dimension).levels;
  const std::vector<double>& log_weight = record_values(record, "log_weight", 0);
  const std::vector<double>& column = record_values(record, "column", log_weight.size() * dimension);
  const std::vector<double>& parent = record_values(record, "parent", log_weight.size() * dimension);
  const std::vector<double>& share = record_values(record, "log_share", 0);
  const auto is_column = [&](double j) { return j >= 0 && j < dimension && j == std::floor(j); };
  std::vector<LevelTree> trees(log_weight.size());
  size_t place = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (!is_column(column[i]) || (parent[i] != -1 && !is_column(parent[i])))
      throw_error("the density 'trees' has the column {} below {}; its file is damaged", column[i],
                  parent[i]);
    LevelTree::Node node{static_cast<uint32_t>(column[i]), static_cast<int64_t>(parent[i]), {}};
    const size_t count =
        size_t{levels[node.column]} * (parent[i] < 0 ? 1 : levels[static_cast<size_t>(parent[i])]);
    if (share.size() - place < count)
      throw Error("the density 'trees' has too few shares; its file is damaged");
    node.log_share.assign(share.begin() + static_cast<std::ptrdiff_t>(place),
                          share.begin() + static_cast<std::ptrdiff_t>(place + count));
    place += count;
    trees[i / dimension].nodes.push_back(std::move(node));
  }
  if (place != share.size()) throw Error("the density 'trees' has too many shares; its file is damaged");
  return std::make_unique<TreeMixture>(levels, log_weight, std::move(trees));
}

TreeFitResult fit_tree_mixture(const Points& data, const Support& support,
                               const TreeMixtureOptions& options) {
  SELFNORM_CHECK(data.rows > 0 && options.components > 0 && options.prior > 0);
  std::vector<uint64_t> chosen = random_permutation(data.rows, RandomStream(options.seed, kTreeStream));
  chosen.resize(std::min<uint64_t>(data.rows, std::max<uint64_t>(1, options.cells / data.columns)));
  std::sort(chosen.begin(), chosen.end());
  const std::vector<float> rows = data.take(chosen);
  const Points used{rows.data(), chosen.size(), data.columns};
  const TreeFit fit(used, support, options);
  return fit.run(static_cast<uint32_t>(std::clamp<uint64_t>(used.rows / kRowsOfTree, 1, options.components)));
}

}  // namespace selfnorm
