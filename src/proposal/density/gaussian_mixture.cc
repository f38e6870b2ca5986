#include "proposal/density/gaussian_mixture.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "proposal/density/mixture_em.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {
namespace {

// Components with less of a point than this leave its mean and root gradients as they are within rounding.
constexpr double kLeastShare = 1e-18;

// Rows of x in double.
auto rows_of(const Points& x) {
  return [x](size_t i, double* out) { std::ranges::copy(x.row(i), out); };
}

}  // namespace

GaussianMixture::GaussianMixture(MixtureComponents components, double defensive)
    : components_(std::move(components)), defensive_(defensive), terms_(0, {}, {}) {
  require_range(defensive >= 0 && defensive <= 0.5, "defensive", defensive, "a number in [0, 0.5]");
  const size_t learned = components_.logit.size(), all = learned + (defensive > 0 ? 1 : 0);
  if (learned == 0 || components_.roots.size() != all || components_.mean.size() != all * dimension())
    throw_error("a mixture has {} logits, {} means and {} covariances, which do not agree", learned,
                components_.mean.size(), components_.roots.size());
  for (const double v : components_.mean)
    if (!std::isfinite(v)) throw Error("a mean of a mixture is not finite");
  prepare();
}

void GaussianMixture::prepare() {
  log_weight_ = log_shares(components_.logit);
  for (double& w : log_weight_) {
    if (!std::isfinite(w)) throw Error("the weights of a mixture are not finite");
    w += std::log1p(-defensive_);
  }
  if (defensive_ > 0) log_weight_.push_back(std::log(defensive_));
  cumulative_.clear();
  double below = 0;
  for (const double w : log_weight_) cumulative_.push_back(below += std::exp(w));
  cumulative_.pop_back();  // the last component takes what rounding leaves
  terms_ = mixture_terms(log_weight_, components_.mean, components_.roots);
}

void GaussianMixture::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = dimension();
  std::vector<double> draws(rows.size());
  fill_normals(random, draws);
  for (size_t begin = 0; begin < rows.size(); begin += d) {
    const double u = random.uniform();
    const auto k = static_cast<size_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), u) -
                                       cumulative_.begin());
    const double* factor = components_.roots[k].inverse().data();
    const double *mean = components_.mean.data() + k * d, *z = draws.data() + begin;
    for (size_t i = 0; i < d; ++i) {
      double value = mean[i];
      for (size_t j = 0; j <= i; ++j) value += *factor++ * z[j];
      rows[begin + i] = static_cast<float>(value);
    }
  }
}

void GaussianMixture::log_prob(const Points& x, std::span<double> out) const {
  TermSum sum(terms_);
  sum.for_each(x.rows, rows_of(x), [&](size_t i, size_t r) { out[i] = sum.value(r); });
}

void GaussianMixture::log_prob_gradient(const Points& x, std::span<double> log_q,
                                        std::span<double> gradient) const {
  TermSum sum(terms_);
  sum.for_each(x.rows, rows_of(x), [&](size_t i, size_t r) {
    log_q[i] = sum.value(r);
    sum.gradient(r, gradient.data() + i * dimension());
  });
}

void GaussianMixture::directional(const Points& x, const Points& v, std::span<double> first,
                                  std::span<double> second) const {
  TermSum sum(terms_);
  std::vector<double> direction(dimension());
  sum.for_each(x.rows, rows_of(x), [&](size_t i, size_t r) {
    std::ranges::copy(v.row(i), direction.begin());
    const TermSum::Directional along = sum.directional(r, direction.data());
    first[i] = along.first;
    second[i] = along.second;
  });
}

DensityRecord GaussianMixture::record() const {
  DensityRecord out{"mixture", {}};
  out.values["logit"] = components_.logit;
  out.values["mean"] = components_.mean;
  out.values["defensive"] = {defensive_};
  std::vector<double>& root = out.values["root"];
  for (const PrecisionRoot& r : components_.roots)
    root.insert(root.end(), r.values().begin(), r.values().end());
  return out;
}

std::vector<double> GaussianMixture::parameters() const {
  const size_t d = dimension();
  std::vector<double> out = components_.logit;
  for (size_t k = 0; k < components_.logit.size(); ++k) {
    for (size_t j = 0; j < d; ++j) out.push_back(components_.mean[k * d + j]);
    const std::vector<double> root = components_.roots[k].parameters();
    out.insert(out.end(), root.begin(), root.end());
  }
  return out;
}

void GaussianMixture::set_parameters(std::span<const double> values) {
  const size_t d = dimension(), learned = components_.logit.size();
  const size_t triangle = PrecisionRoot::size(PrecisionRoot::Shape::full, dimension());
  SELFNORM_CHECK(values.size() == learned * (1 + d + triangle));
  std::copy_n(values.begin(), learned, components_.logit.begin());
  for (size_t k = 0; k < learned; ++k) {
    const std::span<const double> own = values.subspan(learned + k * (d + triangle), d + triangle);
    std::copy_n(own.begin(), d, components_.mean.begin() + static_cast<ptrdiff_t>(k * d));
    components_.roots[k] =
        PrecisionRoot::of_parameters(PrecisionRoot::Shape::full, dimension(), own.subspan(d));
  }
  prepare();
}

// d log q / d logit_k = p_k - softmax_k sum_{l learned} p_l; mean and root: p_k times those of the component.
void GaussianMixture::add_gradient(const Points& x, std::span<const double> weight,
                                   std::span<double> gradient) const {
  const size_t d = dimension(), learned = components_.logit.size();
  const size_t triangle = PrecisionRoot::size(PrecisionRoot::Shape::full, dimension());
  TermSum sum(terms_);
  std::vector<double> delta(d), z(d), softmax(learned);
  for (size_t k = 0; k < learned; ++k) softmax[k] = std::exp(log_weight_[k]) / (1 - defensive_);
  sum.for_each(x.rows, rows_of(x), [&](size_t i, size_t r) {
    const std::span<const double> share = sum.share(r);
    double total = 0;
    for (size_t k = 0; k < learned; ++k) total += share[k];
    for (size_t k = 0; k < learned; ++k) {
      gradient[k] += weight[i] * (share[k] - softmax[k] * total);
      if (share[k] < kLeastShare) continue;
      const double own = weight[i] * share[k];
      const std::span<double> at = gradient.subspan(learned + k * (d + triangle), d + triangle);
      for (size_t j = 0; j < d; ++j) {
        delta[j] = static_cast<double>(x.row(i)[j]) - components_.mean[k * d + j];
        z[j] = sum.z(r, j, k);
      }
      components_.roots[k].add_gradient(own, delta, z, at.subspan(d));
      components_.roots[k].pull_back(z);
      for (size_t j = 0; j < d; ++j) at[j] += own * z[j];
    }
  });
}

std::unique_ptr<GaussianMixture> fit_gaussian_mixture(const Points& data, uint32_t components,
                                                      const FitOptions& options) {
  require_range(options.defensive_scale > 0, "defensive-scale", options.defensive_scale, "a number > 0");
  EmResult fitted = fit_mixture(data, {.components = components, .seed = options.seed});
  if (options.defensive > 0) {
    const ColumnMoments moments = column_moments(data);
    const std::vector<double> wider(data.columns, options.defensive_scale);
    MixtureComponents& all = fitted.components;
    all.mean.insert(all.mean.end(), moments.mean.begin(), moments.mean.end());
    all.roots.push_back(fitted_root(data, moments).unscaled(wider));
  }
  return std::make_unique<GaussianMixture>(std::move(fitted.components), options.defensive);
}

std::unique_ptr<Density> restore_gaussian_mixture(const DensityRecord& record, uint32_t dimension) {
  MixtureComponents parts;
  parts.logit = record_values(record, "logit", 0);
  const double defensive = record_values(record, "defensive", 1)[0];
  const size_t all = parts.logit.size() + (defensive > 0 ? 1 : 0);
  const size_t triangle = PrecisionRoot::size(PrecisionRoot::Shape::full, dimension);
  parts.mean = record_values(record, "mean", all * dimension);
  const std::span<const double> root = record_values(record, "root", all * triangle);
  for (size_t k = 0; k < all; ++k) {
    const std::span<const double> own = root.subspan(k * triangle, triangle);
    parts.roots.emplace_back(PrecisionRoot::Shape::full, dimension,
                             std::vector<double>(own.begin(), own.end()));
  }
  return std::make_unique<GaussianMixture>(std::move(parts), defensive);
}

}  // namespace selfnorm
