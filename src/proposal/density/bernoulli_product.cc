#include "proposal/density/bernoulli_product.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "math/sigmoid.h"
#include "proposal/density/density.h"
#include "proposal/density/sample_moments.h"
#include "selfnorm/error.h"

namespace selfnorm {

BernoulliProduct::BernoulliProduct(std::vector<double> logit)
    : support_(Support::binary(static_cast<uint32_t>(logit.size()))), logit_(std::move(logit)) {
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
  for (size_t begin = 0; begin < rows.size(); begin += one_.size())
    for (size_t j = 0; j < one_.size(); ++j) rows[begin + j] = random.uniform() < one_[j] ? 1.0f : 0.0f;
}

void BernoulliProduct::log_prob(const Points& x, std::span<double> out) const {
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<const float> row = x.row(i);
    out[i] = contains(support_, row) ? log_zeros_ : -std::numeric_limits<double>::infinity();
    for (size_t j = 0; std::isfinite(out[i]) && j < row.size(); ++j) out[i] += row[j] == 1 ? logit_[j] : 0;
  }
}

void BernoulliProduct::log_prob_gradient(const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a bernoulli density has no gradient in x");
}

void BernoulliProduct::directional(const Points&, const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a bernoulli density has no derivatives in x");
}

DensityRecord BernoulliProduct::record() const { return {"bernoulli", {{"logit", logit_}}}; }

void BernoulliProduct::set_parameters(std::span<const double> values) {
  SELFNORM_CHECK(values.size() == logit_.size());
  logit_.assign(values.begin(), values.end());
  prepare();
}

void BernoulliProduct::add_gradient(const Points& x, std::span<const double> weight,
                                    std::span<double> gradient) const {
  for (uint64_t i = 0; i < x.rows; ++i)
    for (size_t j = 0; j < logit_.size(); ++j)
      gradient[j] += weight[i] * (static_cast<double>(x.row(i)[j]) - one_[j]);
}

std::unique_ptr<BernoulliProduct> fit_bernoulli_product(const Points& data) {
  require_finite_points(data);
  std::vector<double> ones(data.columns);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j) {
      const float value = data.row(i)[j];
      if (value != 0 && value != 1)
        throw Error(
            fmt::format("row {}, column {} is {}; bernoulli expects 0 or 1; use categorical for more "
                        "levels or a density for real numbers",
                        i, j, value));
      ones[j] += static_cast<double>(value);
    }
  std::vector<double> logit;
  logit.reserve(ones.size());
  for (const double n : ones)
    logit.push_back(std::log(n + 0.5) - std::log(static_cast<double>(data.rows) - n + 0.5));
  return std::make_unique<BernoulliProduct>(std::move(logit));
}

std::unique_ptr<Density> restore_bernoulli_product(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<BernoulliProduct>(record_values(record, "logit", dimension));
}

}  // namespace selfnorm
