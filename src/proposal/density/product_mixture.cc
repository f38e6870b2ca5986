#include "proposal/density/product_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/special_functions.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/products.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsOfComponent = 20;
constexpr size_t kProductPieces = 8;
constexpr uint64_t kProductStream = 0x6c6d6978;  // "lmix"

// h(x)
double log_carrier(const LevelFeatures& features, std::span<const float> row) {
  double sum = 0;
  if (features.is_counts())
    for (const float x : row)
      if (x > 1) sum -= log_gamma(static_cast<double>(x) + 1);
  return sum;
}

}  // namespace

ProductMixture::ProductMixture(Support support, uint32_t dimension, std::vector<double> log_weight,
                               std::vector<double> mean)
    : support_(std::move(support)),
      dimension_(dimension),
      logit_(std::move(log_weight)),
      log_weight_(log_shares(logit_)),
      mean_(std::move(mean)) {
  const LevelFeatures features(support_, dimension);
  const size_t k = components(), width = features.size();
  if (k == 0 || mean_.size() != k * width)
    throw_error("a mixture of products has {} means for {} components of {} features", mean_.size(), k,
                width);
  start_ = log_weight_;
  slope_.resize(width * k);
  double below = 0;
  for (const double w : log_weight_) cumulative_.push_back(below += std::exp(w));
  cumulative_.back() = kInfinity;
  for (size_t c = 0; c < k; ++c) {
    for (size_t j = 0; j < dimension_; ++j) {
      double rest = 1;
      for (size_t f = features.begin(j); f < features.begin(j + 1); ++f) {
        const double m = mean_[c * width + f];
        rest -= m;
        if (!(m > 0) || !std::isfinite(m))
          throw_error("a mixture of products has the mean {}; expected > 0", m);
        slope_[f * k + c] = std::log(m);
      }
      if (features.is_counts()) {
        start_[c] -= mean_[c * width + features.begin(j)];
        continue;
      }
      if (!(rest > 0))
        throw Error("a mixture of products has shares of a column that are 1 or more together");
      start_[c] += std::log(rest);
      for (size_t f = features.begin(j); f < features.begin(j + 1); ++f) slope_[f * k + c] -= std::log(rest);
    }
  }
}

void ProductMixture::sample(RandomStream& random, std::span<float> rows) const {
  const LevelFeatures features(support_, dimension_);
  for (size_t begin = 0; begin < rows.size(); begin += dimension_) {
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform());
    const double* mean = mean_.data() + static_cast<size_t>(place - cumulative_.begin()) * features.size();
    for (size_t j = 0; j < dimension_; ++j) {
      float& x = rows[begin + j] = 0;
      if (features.is_counts()) {
        x = static_cast<float>(poisson_draw(random, mean[features.begin(j)]));
        continue;
      }
      double left = random.uniform();
      for (size_t f = features.begin(j); f < features.begin(j + 1) && x == 0; ++f)
        if ((left -= mean[f]) < 0) x = static_cast<float>(f - features.begin(j) + 1);
    }
  }
}

// body(i, whether the row is inside, log q(x_i)), with its shares in `share`.
template <class Body>
void ProductMixture::terms(const Points& x, const Body& body, std::vector<double>& share) const {
  const LevelFeatures features(support_, dimension_);
  std::vector<uint32_t> column;
  std::vector<float> value;
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (!features.sparse(x.row(i), column, value)) {
      body(i, false, 0);
      continue;
    }
    share = start_;
    add_sparse_product({column.data(), value.data(), column.size()}, slope_.data(), share.size(), nullptr,
                       share.data(), share.size());
    const LogSumExp total = exp_in_place(share.data(), share.size());
    scale(1 / total.sum, share.data(), share.size());
    body(i, true, total.value() + log_carrier(features, x.row(i)));
  }
}

void ProductMixture::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> share(components());
  terms(
      x, [&](uint64_t i, bool is_inside, double log_q) { out[i] = is_inside ? log_q : -kInfinity; }, share);
}

void ProductMixture::shares(const Points& x, std::span<double> out) const {
  std::vector<double> share(components());
  terms(
      x, [&](uint64_t i, bool, double) { std::ranges::copy(share, out.begin() + i * share.size()); }, share);
}

DensityRecord ProductMixture::record() const {
  DensityRecord record{"products", {{"log_weight", logit_}, {"mean", mean_}}};
  record.values["levels"].assign(dimension_, 0);  // counts
  std::ranges::copy(support_.levels, record.values["levels"].begin());
  return record;
}

std::unique_ptr<Density> restore_product_mixture(const DensityRecord& record, uint32_t dimension) {
  Support support = Support::counts();
  const std::vector<double>& levels = record_values(record, "levels", dimension);
  if (std::ranges::any_of(levels, [](double n) { return n != 0; }))
    support = stored_levels(record, dimension);
  return std::make_unique<ProductMixture>(std::move(support), dimension,
                                          record_values(record, "log_weight", 0),
                                          record_values(record, "mean", 0));
}

class ProductFit {
 public:
  ProductFit(const Points& data, const Support& support, const ProductMixtureOptions& options)
      : support_(support), features_(support, data.columns), options_(options), pooled_(features_.size()) {
    begin_.push_back(0);
    std::vector<uint32_t> column;
    std::vector<float> value;
    for (uint64_t i = 0; i < data.rows; ++i) {
      SELFNORM_CHECK(features_.sparse(data.row(i), column, value));
      column_.insert(column_.end(), column.begin(), column.end());
      value_.insert(value_.end(), value.begin(), value.end());
      begin_.push_back(column_.size());
      carrier_ += log_carrier(features_, data.row(i));
    }
    for (size_t f = 0; f < column_.size(); ++f) pooled_[column_[f]] += static_cast<double>(value_[f]);
    for (size_t j = 0; j < data.columns; ++j) {
      const double levels = features_.is_counts() ? 1 : features_.levels(j);
      for (size_t f = features_.begin(j); f < features_.begin(j + 1); ++f)
        pooled_[f] = (pooled_[f] + 0.5) / (static_cast<double>(rows()) + 0.5 * levels);
    }
  }

  size_t rows() const { return begin_.size() - 1; }

  ProductFitResult run(uint32_t components, uint64_t start) const {
    ProductFitResult out;
    out.density = around_rows(components, start);
    for (uint64_t i = 0; i <= options_.iterations; ++i) {
      const Sums sums = expectation(*out.density);
      const double value =
          (sums.log_likelihood + carrier_ + log_prior(*out.density)) / static_cast<double>(rows());
      out.trace.push_back(value);
      const size_t last = out.trace.size() - 1;
      if (i == options_.iterations || (last > 0 && value - out.trace[last - 1] < options_.tolerance)) break;
      out.density = maximised(sums);
    }
    return out;
  }

 private:
  // Expected counts of components, and sums of their features (features x K).
  struct Sums {
    std::vector<double> component, feature;
    double log_likelihood = 0;  // without h
  };

  SparseView row(size_t i) const {
    return {column_.data() + begin_[i], value_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }

  std::unique_ptr<ProductMixture> maximised(const Sums& sums) const {
    const size_t k = sums.component.size(), width = features_.size();
    std::vector<double> log_weight(k), mean(k * width);
    for (size_t c = 0; c < k; ++c) {
      log_weight[c] = std::log(sums.component[c] + 1);
      for (size_t f = 0; f < width; ++f)
        mean[c * width + f] =
            (sums.feature[f * k + c] + options_.prior * pooled_[f]) / (sums.component[c] + options_.prior);
    }
    return std::make_unique<ProductMixture>(support_, features_.columns(), std::move(log_weight),
                                            std::move(mean));
  }

  // Of w and the means, up to constants: sum_k log w_k + a log-likelihood of m under every component.
  double log_prior(const ProductMixture& q) const {
    const size_t k = q.components();
    double sum = 0;
    for (size_t c = 0; c < k; ++c) {
      sum += q.log_weight_[c] + options_.prior * (q.start_[c] - q.log_weight_[c]);
      for (size_t f = 0; f < features_.size(); ++f) sum += options_.prior * pooled_[f] * q.slope_[f * k + c];
    }
    return sum;
  }

  std::unique_ptr<ProductMixture> around_rows(uint32_t components, uint64_t start) const {
    const std::vector<uint64_t> order =
        random_permutation(rows(), RandomStream(options_.seed, kProductStream + start));
    Sums sums{std::vector<double>(components, 1), std::vector<double>(components * features_.size()), 0};
    for (uint32_t c = 0; c < components; ++c) {
      const SparseView x = row(order[c % rows()]);
      for (size_t f = 0; f < x.nnz; ++f)
        sums.feature[x.column[f] * components + c] += static_cast<double>(x.value[f]);
    }
    return maximised(sums);
  }

  // Pieces are cut by the number of rows alone.
  Sums expectation(const ProductMixture& q) const {
    const size_t k = q.components(), width = features_.size();
    const size_t grain = (rows() + kProductPieces - 1) / kProductPieces;
    std::vector<Sums> part((rows() + grain - 1) / grain);
    parallel_ranges(rows(), grain, [&](size_t first, size_t end) {
      Sums& own = part[first / grain];
      own = {std::vector<double>(k), std::vector<double>(k * width), 0};
      std::vector<double> share(k);
      for (size_t i = first; i < end; ++i) {
        share = q.start_;
        add_sparse_product(row(i), q.slope_.data(), k, nullptr, share.data(), k);
        const LogSumExp total = exp_in_place(share.data(), k);
        own.log_likelihood += total.value();
        scale(1 / total.sum, share.data(), k);
        add_scaled(1.0, share.data(), own.component.data(), k);
        add_sparse_outer(row(i), share.data(), own.feature.data(), k, k);
      }
    });
    for (size_t p = 1; p < part.size(); ++p) {
      add_scaled(1.0, part[p].component.data(), part[0].component.data(), k);
      add_scaled(1.0, part[p].feature.data(), part[0].feature.data(), k * width);
      part[0].log_likelihood += part[p].log_likelihood;
    }
    return std::move(part[0]);
  }

  Support support_;
  LevelFeatures features_;
  ProductMixtureOptions options_;
  std::vector<size_t> begin_;  // of each row's features
  std::vector<uint32_t> column_;
  std::vector<float> value_;
  std::vector<double> pooled_;
  double carrier_ = 0;
};

ProductFitResult fit_product_mixture(const Points& data, const Support& support,
                                     const ProductMixtureOptions& options) {
  SELFNORM_CHECK(data.rows > 0 && options.components > 0 && options.starts > 0 && options.prior > 0);
  std::vector<uint64_t> chosen = random_permutation(data.rows, RandomStream(options.seed, kProductStream));
  chosen.resize(std::min<uint64_t>(data.rows, std::max<uint64_t>(1, options.cells / data.columns)));
  std::sort(chosen.begin(), chosen.end());
  const std::vector<float> rows = data.take(chosen);
  const ProductFit fit({rows.data(), chosen.size(), data.columns}, support, options);
  const auto components =
      static_cast<uint32_t>(std::clamp<uint64_t>(fit.rows() / kRowsOfComponent, 1, options.components));
  ProductFitResult best = fit.run(components, 1);
  for (uint64_t start = 2; start <= options.starts && components > 1; ++start)
    if (ProductFitResult next = fit.run(components, start); next.trace.back() > best.trace.back())
      best = std::move(next);
  return best;
}

}  // namespace selfnorm
