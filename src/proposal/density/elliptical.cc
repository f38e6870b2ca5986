#include "proposal/density/elliptical.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/special_functions.h"
#include "proposal/density/gaussian_terms.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

double square(std::span<const double> z) { return dot(z.data(), z.data(), z.size()); }

void difference(std::span<const float> x, std::span<const double> mean, std::span<double> out) {
  for (size_t j = 0; j < out.size(); ++j) out[j] = static_cast<double>(x[j]) - mean[j];
}

// z = W (x - centre); returns |z|^2.
double whitened(const PrecisionRoot& root, std::span<const double> centre, std::span<const float> x,
                std::span<double> z) {
  difference(x, centre, z);
  root.whiten(z);
  return square(z);
}

// Gamma(shape, 1) by Marsaglia & Tsang (2000); below 1, Gamma(shape + 1) U^(1 / shape).
double gamma_draw(RandomStream& random, double shape) {
  if (shape < 1) return gamma_draw(random, shape + 1) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), root = 1 + c * x, v = root * root * root;
    if (v > 0 && std::log1p(-random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
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
  for (uint64_t i = 0; i < x.rows; ++i) out[i] = constant - 0.5 * whitened(root_, mean_, x.row(i), z);
}

void Gaussian::log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const {
  const size_t d = mean_.size();
  log_prob(x, log_q);
  for (uint64_t i = 0; i < x.rows; ++i) {
    const std::span<double> g = gradient.subspan(i * d, d);
    whitened(root_, mean_, x.row(i), g);
    root_.pull_back(g);
    scale(-1.0, g.data(), d);
  }
}

void Gaussian::directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) const {
  std::vector<double> z(mean_.size()), along(mean_.size());
  for (uint64_t i = 0; i < x.rows; ++i) {
    whitened(root_, mean_, x.row(i), z);
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

StudentT::StudentT(double dof, std::vector<double> location, PrecisionRoot root)
    : dof_(dof), location_(std::move(location)), root_(std::move(root)) {
  require_range(dof > 0, "the degrees of freedom of student-t", dof, "a number > 0");
  SELFNORM_CHECK(location_.size() == root_.dimension());
  const auto d = static_cast<double>(location_.size());
  constant_ = log_gamma((dof + d) / 2) - log_gamma(dof / 2) - 0.5 * d * std::log(dof * std::numbers::pi) +
              root_.log_determinant();
}

double StudentT::log_density(double square) const {
  return constant_ - 0.5 * (dof_ + static_cast<double>(location_.size())) * std::log1p(square / dof_);
}

// A heavy tail may leave float32; such a draw becomes its largest number.
void StudentT::sample(RandomStream& random, std::span<float> rows) const {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const size_t d = location_.size();
  std::vector<double> draws(rows.size());
  fill_normals(random, draws);
  for (size_t begin = 0; begin < rows.size(); begin += d) {
    const std::span<double> z(draws.data() + begin, d);
    root_.unwhiten(z);
    const double stretch = std::sqrt(dof_ / (2 * gamma_draw(random, dof_ / 2)));
    for (size_t j = 0; j < d; ++j) {
      const double value = location_[j] + (z[j] == 0 ? 0 : z[j] * stretch);
      rows[begin + j] = static_cast<float>(std::clamp(value, -kLargest, kLargest));
    }
  }
}

void StudentT::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> z(location_.size());
  for (uint64_t i = 0; i < x.rows; ++i) out[i] = log_density(whitened(root_, location_, x.row(i), z));
}

void StudentT::log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const {
  const size_t d = location_.size();
  log_prob(x, log_q);
  std::vector<double> z(location_.size());
  for (uint64_t i = 0; i < x.rows; ++i) {
    const double u = (dof_ + static_cast<double>(d)) / (dof_ + whitened(root_, location_, x.row(i), z));
    root_.pull_back(z);
    for (size_t j = 0; j < d; ++j) gradient[i * d + j] = -u * z[j];
  }
}

void StudentT::directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) const {
  const double total = dof_ + static_cast<double>(location_.size());
  std::vector<double> z(location_.size()), along;
  for (uint64_t i = 0; i < x.rows; ++i) {
    const double u = total / (dof_ + whitened(root_, location_, x.row(i), z));
    along.assign(v.row(i).begin(), v.row(i).end());
    root_.whiten(along);
    const double product = dot(z.data(), along.data(), z.size());
    first[i] = -u * product;
    second[i] = 2 * u * product * (u * product) / total - u * dot(along.data(), along.data(), z.size());
  }
}

double StudentT::weigh(const Points& x, std::span<double> weight) const {
  const double total = dof_ + static_cast<double>(location_.size());
  return ordered_sum(x.rows, 1024, [&](size_t begin, size_t end) {
    std::vector<double> z(location_.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) {
      const double square = whitened(root_, location_, x.row(i), z);
      weight[i] = total / (dof_ + square);
      sum += log_density(square);
    }
    return sum;
  });
}

DensityRecord StudentT::record() const {
  return {
      "student-t",
      {{"dof", {dof_}}, {"location", location_}, {"root", {root_.values().begin(), root_.values().end()}}}};
}

std::unique_ptr<StudentT> fit_student_t(const Points& data, double dof) {
  constexpr int kIterations = 100;
  constexpr double kTolerance = 1e-6;  // of log q at the rows, per row
  require_finite_points(data);
  const ColumnMoments moments = column_moments(data);
  const size_t d = data.columns;
  auto fit = std::make_unique<StudentT>(dof, moments.mean, fitted_root(data, moments));
  std::vector<double> weight(data.rows);
  double before = -std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const double sum = fit->weigh(data, weight) / static_cast<double>(data.rows);
    if (sum - before < kTolerance) break;
    before = sum;
    std::vector<double> location(d);
    double mass = 0;
    for (uint64_t i = 0; i < data.rows; ++i) {
      mass += weight[i];
      for (size_t j = 0; j < d; ++j) location[j] += weight[i] * static_cast<double>(data.row(i)[j]);
    }
    for (double& m : location) m /= mass;
    PrecisionRoot root = fitted_root(data, moments, weight, location);
    fit = std::make_unique<StudentT>(dof, std::move(location), std::move(root));
  }
  return fit;
}

std::unique_ptr<Density> restore_student_t(const DensityRecord& record, uint32_t dimension) {
  constexpr auto kFull = PrecisionRoot::Shape::full;
  const size_t size = PrecisionRoot::size(kFull, dimension);
  return std::make_unique<StudentT>(record_values(record, "dof", 1)[0],
                                    record_values(record, "location", dimension),
                                    PrecisionRoot(kFull, dimension, record_values(record, "root", size)));
}

}  // namespace selfnorm
