#include "proposal/density/gaussian.h"

#include <cmath>
#include <numbers>

#include "math/kernels.h"
#include "proposal/density/density.h"
#include "proposal/density/normal_draws.h"
#include "proposal/density/sample_moments.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

double square(std::span<const double> z) { return dot(z.data(), z.data(), z.size()); }

void difference(std::span<const float> x, std::span<const double> mean, std::span<double> out) {
  for (size_t j = 0; j < out.size(); ++j) out[j] = static_cast<double>(x[j]) - mean[j];
}

}  // namespace

Gaussian::Gaussian(std::vector<double> mean, PrecisionRoot root)
    : mean_(std::move(mean)), root_(std::move(root)) {
  SELFNORM_CHECK(mean_.size() == root_.dimension());
}

void Gaussian::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = mean_.size();
  std::vector<double> draws(rows.size());
  fill_normals(random, draws);
  for (size_t begin = 0; begin < rows.size(); begin += d) {
    const std::span<double> z(draws.data() + begin, d);
    root_.unwhiten(z);
    for (size_t j = 0; j < d; ++j) rows[begin + j] = static_cast<float>(mean_[j] + z[j]);
  }
}

void Gaussian::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> z(mean_.size());
  const double constant =
      root_.log_determinant() - 0.5 * static_cast<double>(mean_.size()) * std::log(2 * std::numbers::pi);
  for (uint64_t i = 0; i < x.rows; ++i) {
    difference(x.row(i), mean_, z);
    root_.whiten(z);
    out[i] = constant - 0.5 * square(z);
  }
}

void Gaussian::log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const {
  const size_t d = mean_.size();
  log_prob(x, log_q);
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<double> g = gradient.subspan(i * d, d);
    difference(x.row(i), mean_, g);
    root_.whiten(g);
    root_.pull_back(g);
    scale(-1.0, g.data(), d);
  }
}

void Gaussian::directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) const {
  std::vector<double> z(mean_.size()), along(mean_.size());
  for (uint64_t i = 0; i < x.rows; ++i) {
    difference(x.row(i), mean_, z);
    root_.whiten(z);
    along.assign(v.row(i).begin(), v.row(i).end());
    root_.whiten(along);
    first[i] = -dot(along.data(), z.data(), z.size());
    second[i] = -square(along);
  }
}

DensityRecord Gaussian::record() const {
  return {root_.shape() == PrecisionRoot::Shape::full ? "gaussian" : "gaussian-diagonal",
          {{"mean", mean_}, {"root", {root_.values().begin(), root_.values().end()}}}};
}

std::vector<double> Gaussian::parameters() const {
  std::vector<double> out = mean_;
  const std::vector<double> root = root_.parameters();
  out.insert(out.end(), root.begin(), root.end());
  return out;
}

void Gaussian::set_parameters(std::span<const double> values) {
  const size_t d = mean_.size();
  root_ = PrecisionRoot::of_parameters(root_.shape(), root_.dimension(), values.subspan(d));
  mean_.assign(values.begin(), values.begin() + static_cast<ptrdiff_t>(d));
}

void Gaussian::add_gradient(const Points& x, std::span<const double> weight,
                            std::span<double> gradient) const {
  const size_t d = mean_.size();
  std::vector<double> delta(d), z(d);
  for (uint64_t i = 0; i < x.rows; ++i) {
    difference(x.row(i), mean_, delta);
    z = delta;
    root_.whiten(z);
    root_.add_gradient(weight[i], delta, z, gradient.subspan(d));
    root_.pull_back(z);
    add_scaled(weight[i], z.data(), gradient.data(), d);
  }
}

std::unique_ptr<Gaussian> fit_gaussian(const Points& data, PrecisionRoot::Shape shape) {
  require_finite_points(data);
  ColumnMoments moments = column_moments(data);
  if (shape == PrecisionRoot::Shape::full) {
    PrecisionRoot root = fitted_root(data, moments);
    return std::make_unique<Gaussian>(std::move(moments.mean), std::move(root));
  }
  const PrecisionRoot unit(shape, data.columns, std::vector<double>(data.columns, 1));
  PrecisionRoot root = unit.unscaled(moments.scale);
  return std::make_unique<Gaussian>(std::move(moments.mean), std::move(root));
}

std::unique_ptr<Density> restore_gaussian(const DensityRecord& record, uint32_t dimension) {
  const auto shape = record.kind == "gaussian" ? PrecisionRoot::Shape::full : PrecisionRoot::Shape::diagonal;
  const size_t size = PrecisionRoot::size(shape, dimension);
  return std::make_unique<Gaussian>(record_values(record, "mean", dimension),
                                    PrecisionRoot(shape, dimension, record_values(record, "root", size)));
}

}  // namespace selfnorm
