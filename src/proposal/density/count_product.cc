#include "proposal/density/count_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/special_functions.h"
#include "proposal/density/density.h"
#include "proposal/density/sample_moments.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLeastDispersion = 1.5;  // variance over mean
constexpr double kMostCount = 1 << 24;
constexpr double kLargeRate = 10;

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

}  // namespace

CountProduct::CountProduct(std::vector<double> mean, std::vector<double> size)
    : mean_(std::move(mean)), size_(std::move(size)) {
  if (mean_.size() != size_.size())
    throw Error(fmt::format("there are {} means and {} sizes of counts; expected as many", mean_.size(),
                            size_.size()));
  for (size_t j = 0; j < mean_.size(); ++j) {
    const double m = mean_[j], r = size_[j];
    if (!(m > 0 && r > 0) || !std::isfinite(m) || !std::isfinite(r))
      throw Error(fmt::format("counts of mean {} and size {}; expected positive numbers", m, r));
    log_size_share_.push_back(-std::log1p(m / r));
    log_mean_share_.push_back(-std::log1p(r / m));
    constant_ += r * log_size_share_[j] - log_gamma(r);
  }
}

Support CountProduct::support() const {
  Support out;
  out.space = Support::Space::counts;
  return out;
}

void CountProduct::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = mean_.size();
  for (size_t begin = 0; begin < rows.size(); begin += d)
    for (size_t j = 0; j < d; ++j) {
      const double log_rate = log_gamma_draw(random, size_[j]) + std::log(mean_[j] / size_[j]);
      rows[begin + j] = static_cast<float>(poisson_draw(random, std::exp(log_rate)));
    }
}

void CountProduct::log_prob(const Points& x, std::span<double> out) const {
  const Support counts = support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<const float> row = x.row(i);
    out[i] = contains(counts, row) ? constant_ : -std::numeric_limits<double>::infinity();
    for (size_t j = 0; std::isfinite(out[i]) && j < row.size(); ++j) {
      const double k = row[j];
      out[i] += log_gamma(k + size_[j]) - log_gamma(k + 1) + k * log_mean_share_[j];
    }
  }
}

void CountProduct::log_prob_gradient(const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a density of counts has no gradient in x");
}

void CountProduct::directional(const Points&, const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a density of counts has no derivatives in x");
}

DensityRecord CountProduct::record() const { return {"counts", {{"mean", mean_}, {"size", size_}}}; }

std::unique_ptr<CountProduct> fit_count_product(const Points& data) {
  require_finite_points(data);
  const auto n = static_cast<double>(data.rows);
  std::vector<double> mean(data.columns), square(data.columns), size;
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) {
      const double k = data.row(i)[j];
      if (k < 0 || k != std::floor(k) || k > kMostCount)
        throw Error(
            fmt::format("row {}, column {} is {}; counts expects whole numbers 0 .. {}; use a density for "
                        "real numbers",
                        i, j, k, kMostCount));
      const double delta = k - mean[j];
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

}  // namespace selfnorm
