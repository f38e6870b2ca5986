#include "proposal/density/products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/random.h"
#include "math/sigmoid.h"
#include "math/special_functions.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostOfColumn = 65536;
constexpr double kLeastDispersion = 1.5;  // of counts: variance over mean
constexpr uint32_t kMostCount = 1 << 24;
constexpr double kLargeRate = 10;

// log q(x_i) = start + sum_j term(j, x_ij), -inf outside the support.
template <class Term>
void sum_columns(const Support& support, double start, const Points& x, std::span<double> out,
                 const Term& term) {
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<const float> row = x.row(i);
    out[i] = contains(support, row) ? start : -std::numeric_limits<double>::infinity();
    for (size_t j = 0; std::isfinite(out[i]) && j < row.size(); ++j) out[i] += term(j, row[j]);
  }
}

// Every number of rows of d columns is draw(j).
template <class Draw>
void draw_columns(size_t d, std::span<float> rows, const Draw& draw) {
  for (size_t begin = 0; begin < rows.size(); begin += d)
    for (size_t j = 0; j < d; ++j) rows[begin + j] = static_cast<float>(draw(j));
}

// Throws Error naming row and column unless every value is a whole number in 0 .. most.
void require_whole(const Points& data, uint32_t most, const std::string& expected) {
  require_finite_points(data);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) {
      const float value = data.row(i)[j];
      if (value < 0 || value != std::floor(value) || value > static_cast<float>(most))
        throw_error("row {}, column {} is {}; {}", i, j, value, expected);
    }
}

// The nearest float32 in the direction of the infinity `away`, within the finite ones.
double rounded_out(double value, double away) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(std::clamp(value, -kLargest, kLargest));
  const auto bound = static_cast<float>(std::copysign(kLargest, away));
  const bool is_inside =
      away > 0 ? static_cast<double>(rounded) < value : static_cast<double>(rounded) > value;
  return static_cast<double>(is_inside ? std::nextafter(rounded, bound) : rounded);
}

std::vector<size_t> level_begins(const std::vector<uint32_t>& levels) {
  std::vector<size_t> begin{0};
  for (const uint32_t n : levels) begin.push_back(begin.back() + n);
  return begin;
}

// In (0, 1), so that its logarithm is finite.
double positive_uniform(RandomStream& random) { return random.uniform() + 0x1p-54; }

// The logarithm of a Gamma(shape, 1), shape >= 1 (Marsaglia and Tsang 2000); below 1 by
// Gamma(a) = Gamma(a + 1) U^(1/a), which may be too small for anything but its logarithm.
double log_gamma_draw(RandomStream& random, double shape) {
  if (shape < 1) {
    const double log_u = std::log(positive_uniform(random));
    return log_gamma_draw(random, shape + 1) + log_u / shape;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double z = random.normal(), root = 1 + c * z;
    if (!(root > 0)) continue;
    const double v = root * root * root;
    if (std::log(positive_uniform(random)) < z * z / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

}  // namespace

// Small rates: the number of uniforms whose product stays above exp(-rate).
// Large rates: transformed rejection with squeeze (Hormann 1993, PTRS).
double poisson_draw(RandomStream& random, double rate) {
  if (rate < kLargeRate) {
    const double end = std::exp(-rate);
    double product = random.uniform(), count = 0;
    for (; product > end; ++count) product *= random.uniform();
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = random.uniform() - 0.5, v = positive_uniform(random), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= limit) return k;
    if (!(k >= 0) || !std::isfinite(k) || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * std::log(rate) - rate - log_gamma(k + 1))
      return k;
  }
}

Support level_support(const Points& data) {
  require_whole(data, kMostOfColumn - 1,
                fmt::format("categorical expects whole numbers 0 .. {}; use a density for real numbers",
                            kMostOfColumn - 1));
  Support support;
  support.space = Support::Space::levels;
  support.levels.assign(data.columns, 2);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j)
      support.levels[j] = std::max(support.levels[j], static_cast<uint32_t>(data.row(i)[j]) + 1);
  return support;
}

Support stored_levels(const DensityRecord& record, uint32_t dimension) {
  Support support;
  support.space = Support::Space::levels;
  for (const double n : record_values(record, "levels", dimension)) {
    if (!(n >= 1 && n <= kMostOfColumn && n == std::floor(n)))
      throw_error("the density '{}' has {} levels; its file is damaged", record.kind, n);
    support.levels.push_back(static_cast<uint32_t>(n));
  }
  return support;
}

UniformBox::UniformBox(std::vector<double> lower, std::vector<double> upper)
    : support_(Support::box(std::move(lower), std::move(upper))) {
  SELFNORM_CHECK(support_.lower.size() == support_.upper.size());
  for (size_t j = 0; j < support_.lower.size(); ++j) {
    const double low = support_.lower[j], high = support_.upper[j];
    if (!(low < high) || !std::isfinite(high - low) || static_cast<double>(static_cast<float>(low)) != low ||
        static_cast<double>(static_cast<float>(high)) != high)
      throw_error("the box of column {} is [{}, {}]; expected a finite interval whose ends are float32", j,
                  low, high);
    log_inside_ -= std::log(high - low);
  }
}

void UniformBox::sample(RandomStream& random, std::span<float> rows) const {
  const std::vector<double>&low = support_.lower, &high = support_.upper;
  draw_columns(low.size(), rows, [&](size_t j) { return low[j] + random.uniform() * (high[j] - low[j]); });
}

void UniformBox::log_prob(const Points& x, std::span<double> out) const {
  sum_columns(support_, log_inside_, x, out, [](size_t, float) { return 0.0; });
}

void UniformBox::log_prob_gradient(const Points& x, std::span<double> log_q,
                                   std::span<double> gradient) const {
  log_prob(x, log_q);
  std::ranges::fill(gradient, 0.0);
}

void UniformBox::directional(const Points&, const Points&, std::span<double> first,
                             std::span<double> second) const {
  std::ranges::fill(first, 0.0);
  std::ranges::fill(second, 0.0);
}

DensityRecord UniformBox::record() const {
  return {"uniform", {{"lower", support_.lower}, {"upper", support_.upper}}};
}

std::unique_ptr<UniformBox> fit_uniform_box(const Points& data, const Support& space) {
  require_finite_points(data);
  const ColumnMoments moments = column_moments(data);
  const std::span<const float> first = data.row(0);
  std::vector<double> lower(first.begin(), first.end()), upper = lower;
  for (uint64_t i = 1; i < data.rows; ++i)
    for (size_t j = 0; j < lower.size(); ++j) {
      lower[j] = std::min(lower[j], static_cast<double>(data.row(i)[j]));
      upper[j] = std::max(upper[j], static_cast<double>(data.row(i)[j]));
    }
  for (size_t j = 0; j < lower.size(); ++j) {
    const double margin = moments.is_constant[j] ? moments.scale[j] : 0.1 * (upper[j] - lower[j]);
    lower[j] = rounded_out(lower[j] - margin, -1);
    upper[j] = rounded_out(upper[j] + margin, 1);
    if (space.lower.empty()) continue;
    if (std::isfinite(space.lower[j])) lower[j] = space.lower[j];
    if (std::isfinite(space.upper[j])) upper[j] = space.upper[j];
  }
  return std::make_unique<UniformBox>(std::move(lower), std::move(upper));
}

std::unique_ptr<Density> restore_uniform_box(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<UniformBox>(record_values(record, "lower", dimension),
                                      record_values(record, "upper", dimension));
}

void LogitProduct::set_parameters(std::span<const double> values) {
  SELFNORM_CHECK(values.size() == logit_.size());
  logit_.assign(values.begin(), values.end());
  prepare();
}

BernoulliProduct::BernoulliProduct(std::vector<double> logit) : LogitProduct(std::move(logit)) {
  support_ = Support::binary(static_cast<uint32_t>(logit_.size()));
  prepare();
}

void BernoulliProduct::prepare() {
  one_.clear();
  log_zeros_ = 0;
  for (const double a : logit_) {
    if (!std::isfinite(a)) throw Error("a logit of a bernoulli density is not finite");
    one_.push_back(sigmoid(a));
    log_zeros_ -= softplus(a);
  }
}

void BernoulliProduct::sample(RandomStream& random, std::span<float> rows) const {
  draw_columns(one_.size(), rows, [&](size_t j) { return random.uniform() < one_[j] ? 1.0f : 0.0f; });
}

void BernoulliProduct::log_prob(const Points& x, std::span<double> out) const {
  sum_columns(support_, log_zeros_, x, out, [&](size_t j, float v) { return v == 1 ? logit_[j] : 0; });
}

void BernoulliProduct::add_gradient(const Points& x, std::span<const double> weight,
                                    std::span<double> gradient) const {
  for (uint64_t i = 0; i < x.rows; ++i)
    for (size_t j = 0; j < logit_.size(); ++j)
      gradient[j] += weight[i] * (static_cast<double>(x.row(i)[j]) - one_[j]);
}

std::unique_ptr<BernoulliProduct> fit_bernoulli_product(const Points& data) {
  require_whole(data, 1,
                "bernoulli expects 0 or 1; use categorical for more levels or a density for real numbers");
  std::vector<double> logit(data.columns);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) logit[j] += static_cast<double>(data.row(i)[j]);
  for (double& n : logit) n = std::log(n + 0.5) - std::log(static_cast<double>(data.rows) - n + 0.5);
  return std::make_unique<BernoulliProduct>(std::move(logit));
}

std::unique_ptr<Density> restore_bernoulli_product(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<BernoulliProduct>(record_values(record, "logit", dimension));
}

CategoricalProduct::CategoricalProduct(std::vector<uint32_t> levels, std::vector<double> logit)
    : LogitProduct(std::move(logit)), begin_(level_begins(levels)) {
  support_.space = Support::Space::levels;
  support_.levels = std::move(levels);
  for (const uint32_t n : support_.levels)
    if (n < 1 || n > kMostOfColumn) throw_error("a column has {} levels; expected 1 to {}", n, kMostOfColumn);
  if (logit_.size() != begin_.back())
    throw_error("there are {} logits for {} levels", logit_.size(), begin_.back());
  prepare();
}

void CategoricalProduct::prepare() {
  log_share_.clear();
  cumulative_.clear();
  for (size_t j = 0; j + 1 < begin_.size(); ++j) {
    double below = 0;
    for (const double share : log_shares(std::span(logit_).subspan(begin_[j], begin_[j + 1] - begin_[j]))) {
      if (!std::isfinite(share)) throw Error("a logit of a categorical density is not finite");
      log_share_.push_back(share);
      cumulative_.push_back(below += std::exp(share));
    }
    cumulative_.back() = std::numeric_limits<double>::infinity();  // takes what rounding leaves
  }
}

void CategoricalProduct::sample(RandomStream& random, std::span<float> rows) const {
  draw_columns(dimension(), rows, [&](size_t j) {
    const double* first = cumulative_.data() + begin_[j];
    return std::upper_bound(first, cumulative_.data() + begin_[j + 1], random.uniform()) - first;
  });
}

void CategoricalProduct::log_prob(const Points& x, std::span<double> out) const {
  sum_columns(support_, 0, x, out,
              [&](size_t j, float v) { return log_share_[begin_[j] + static_cast<size_t>(v)]; });
}

DensityRecord CategoricalProduct::record() const {
  return {"categorical", {{"levels", {support_.levels.begin(), support_.levels.end()}}, {"logit", logit_}}};
}

void CategoricalProduct::add_gradient(const Points& x, std::span<const double> weight,
                                      std::span<double> gradient) const {
  double total = 0;
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<const float> row = x.row(i);
    SELFNORM_CHECK(contains(support_, row));
    total += weight[i];
    for (size_t j = 0; j < row.size(); ++j) gradient[begin_[j] + static_cast<size_t>(row[j])] += weight[i];
  }
  for (size_t l = 0; l < logit_.size(); ++l) gradient[l] -= total * std::exp(log_share_[l]);
}

std::unique_ptr<CategoricalProduct> fit_categorical_product(const Points& data) {
  std::vector<uint32_t> levels = level_support(data).levels;
  const std::vector<size_t> begin = level_begins(levels);
  std::vector<double> logit(begin.back(), 0.5);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) logit[begin[j] + static_cast<size_t>(data.row(i)[j])] += 1;
  for (double& a : logit) a = std::log(a);
  return std::make_unique<CategoricalProduct>(std::move(levels), std::move(logit));
}

std::unique_ptr<Density> restore_categorical_product(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<CategoricalProduct>(stored_levels(record, dimension).levels,
                                              record_values(record, "logit", 0));
}

CountProduct::CountProduct(std::vector<double> mean, std::vector<double> size)
    : mean_(std::move(mean)), size_(std::move(size)) {
  if (mean_.size() != size_.size())
    throw_error("there are {} means and {} sizes of counts; expected as many", mean_.size(), size_.size());
  for (size_t j = 0; j < mean_.size(); ++j) {
    const double m = mean_[j], r = size_[j];
    if (!(m > 0 && r > 0) || !std::isfinite(m) || !std::isfinite(r))
      throw_error("counts of mean {} and size {}; expected positive numbers", m, r);
    log_size_share_.push_back(-std::log1p(m / r));
    log_mean_share_.push_back(-std::log1p(r / m));
    constant_ += r * log_size_share_[j] - log_gamma(r);
  }
}

void CountProduct::sample(RandomStream& random, std::span<float> rows) const {
  draw_columns(mean_.size(), rows, [&](size_t j) {
    const double log_rate = log_gamma_draw(random, size_[j]) + std::log(mean_[j] / size_[j]);
    return poisson_draw(random, std::exp(log_rate));
  });
}

void CountProduct::log_prob(const Points& x, std::span<double> out) const {
  sum_columns(support(), constant_, x, out, [&](size_t j, double k) {
    return log_gamma(k + size_[j]) - log_gamma(k + 1) + k * log_mean_share_[j];
  });
}

std::unique_ptr<CountProduct> fit_count_product(const Points& data) {
  require_whole(
      data, kMostCount,
      fmt::format("counts expects whole numbers 0 .. {}; use a density for real numbers", kMostCount));
  const auto n = static_cast<double>(data.rows);
  std::vector<double> mean(data.columns), square(data.columns), size;
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) {
      const double k = data.row(i)[j], delta = k - mean[j];
      mean[j] += delta / static_cast<double>(i + 1);
      square[j] += delta * (k - mean[j]);
    }
  for (uint32_t j = 0; j < data.columns; ++j) {
    mean[j] = std::max(mean[j], 1 / (n + 1));
    const double variance = std::max(square[j] / n, kLeastDispersion * mean[j]);
    size.push_back(mean[j] * mean[j] / (variance - mean[j]));
  }
  return std::make_unique<CountProduct>(std::move(mean), std::move(size));
}

std::unique_ptr<Density> restore_count_product(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<CountProduct>(record_values(record, "mean", dimension),
                                        record_values(record, "size", dimension));
}

LevelFeatures::LevelFeatures(const Support& support, uint32_t dimension)
    : levels_(support.levels), begin_{0} {
  SELFNORM_CHECK(!support.is_real() && !support.is_mixed());
  for (uint32_t j = 0; j < dimension; ++j)
    begin_.push_back(begin_.back() + (is_counts() ? 1 : levels_[j] - 1));
}

bool LevelFeatures::sparse(std::span<const float> row, std::vector<uint32_t>& column,
                           std::vector<float>& value) const {
  column.clear();
  value.clear();
  for (size_t j = 0; j < row.size(); ++j) {
    const float x = row[j];
    if (x == 0) continue;
    if (!(x > 0 && x == std::floor(x)) || (!is_counts() && x >= static_cast<float>(levels_[j]))) return false;
    column.push_back(static_cast<uint32_t>(begin_[j] + (is_counts() ? 0 : static_cast<size_t>(x) - 1)));
    value.push_back(is_counts() ? x : 1);
  }
  return true;
}

void LevelFeatures::dense(std::span<const float> row, float* out) const {
  std::fill_n(out, size(), 0.0f);
  for (size_t j = 0; j < row.size(); ++j) {
    if (row[j] == 0) continue;
    if (is_counts())
      out[begin_[j]] = row[j];
    else
      out[begin_[j] + static_cast<size_t>(row[j]) - 1] = 1;
  }
}

}  // namespace selfnorm
