#include "proposal/density/categorical_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proposal/density/density.h"
#include "proposal/density/sample_moments.h"
#include "proposal/density/term_sum.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostLevels = 65536;

}  // namespace

CategoricalProduct::CategoricalProduct(std::vector<uint32_t> levels, std::vector<double> logit)
    : logit_(std::move(logit)) {
  support_.space = Support::Space::levels;
  support_.levels = std::move(levels);
  begin_.push_back(0);
  for (const uint32_t n : support_.levels) {
    if (n < 1 || n > kMostLevels)
      throw Error(fmt::format("a column has {} levels; expected 1 to {}", n, kMostLevels));
    begin_.push_back(begin_.back() + n);
  }
  if (logit_.size() != begin_.back())
    throw Error(fmt::format("there are {} logits for {} levels", logit_.size(), begin_.back()));
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
  const size_t d = support_.levels.size();
  for (size_t begin = 0; begin < rows.size(); begin += d)
    for (size_t j = 0; j < d; ++j) {
      const double* first = cumulative_.data() + begin_[j];
      const double* level = std::upper_bound(first, cumulative_.data() + begin_[j + 1], random.uniform());
      rows[begin + j] = static_cast<float>(level - first);
    }
}

void CategoricalProduct::log_prob(const Points& x, std::span<double> out) const {
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<const float> row = x.row(i);
    out[i] = contains(support_, row) ? 0 : -std::numeric_limits<double>::infinity();
    for (size_t j = 0; std::isfinite(out[i]) && j < row.size(); ++j)
      out[i] += log_share_[begin_[j] + static_cast<size_t>(row[j])];
  }
}

void CategoricalProduct::log_prob_gradient(const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a categorical density has no gradient in x");
}

void CategoricalProduct::directional(const Points&, const Points&, std::span<double>,
                                     std::span<double>) const {
  throw Bug("a categorical density has no derivatives in x");
}

DensityRecord CategoricalProduct::record() const {
  return {"categorical", {{"levels", {support_.levels.begin(), support_.levels.end()}}, {"logit", logit_}}};
}

void CategoricalProduct::set_parameters(std::span<const double> values) {
  SELFNORM_CHECK(values.size() == logit_.size());
  logit_.assign(values.begin(), values.end());
  prepare();
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
  require_finite_points(data);
  std::vector<uint32_t> levels(data.columns, 2);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) {
      const float value = data.row(i)[j];
      if (value < 0 || value != std::floor(value) || value >= static_cast<float>(kMostLevels))
        throw Error(
            fmt::format("row {}, column {} is {}; categorical expects whole numbers 0 .. {}; use a "
                        "density for real numbers",
                        i, j, value, kMostLevels - 1));
      levels[j] = std::max(levels[j], static_cast<uint32_t>(value) + 1);
    }
  std::vector<size_t> begin{0};
  for (const uint32_t n : levels) begin.push_back(begin.back() + n);
  std::vector<double> logit(begin.back(), 0.5);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) logit[begin[j] + static_cast<size_t>(data.row(i)[j])] += 1;
  for (double& a : logit) a = std::log(a);
  return std::make_unique<CategoricalProduct>(std::move(levels), std::move(logit));
}

std::unique_ptr<Density> restore_categorical_product(const DensityRecord& record, uint32_t dimension) {
  std::vector<uint32_t> levels;
  for (const double n : record_values(record, "levels", dimension)) {
    if (!(n >= 1 && n <= kMostLevels && n == std::floor(n)))
      throw Error(fmt::format("the density 'categorical' has {} levels; its file is damaged", n));
    levels.push_back(static_cast<uint32_t>(n));
  }
  return std::make_unique<CategoricalProduct>(std::move(levels), record_values(record, "logit", 0));
}

}  // namespace selfnorm
