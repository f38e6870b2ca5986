#include "proposal/density/kernel_density.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/failure.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {
namespace {

constexpr uint64_t kKernels = 10000, kHeldOut = 1000;

GaussianTerms kernel_terms(const KernelShape& shape, const std::vector<double>& centres) {
  const uint32_t d = shape.root.dimension();
  const size_t n = centres.size() / d;
  std::vector<double> place = centres;
  for (size_t i = 0; i < n; ++i) {
    const std::span<double> u(place.data() + i * d, d);
    for (size_t j = 0; j < d; ++j) u[j] = (u[j] - shape.mean[j]) / shape.bandwidth;
    shape.root.whiten(u);
  }
  const double constant = shape.root.log_determinant() - std::log(static_cast<double>(n)) -
                          d * (std::log(shape.bandwidth) + 0.5 * std::log(2 * std::numbers::pi));
  return {d, std::vector<double>(n, constant), place};
}

double scott(size_t n, uint32_t d) { return std::pow(static_cast<double>(n), -1.0 / (d + 4.0)); }

// The factor of Scott's rule by the likelihood of the first rows given the others.
double chosen_factor(const Points& rows, const KernelShape& shape) {
  constexpr int kSteps = 14;  // 2, 1.40, ..., 0.02
  const uint64_t held = std::min(kHeldOut, rows.rows / 5);
  const Points test = rows.slice(0, held), rest = rows.slice(held, rows.rows);
  const std::vector<double> centres(rest.data, rest.data + rest.size());
  std::vector<double> log_q(held);
  double best = 1, highest = -std::numeric_limits<double>::infinity();
  for (int step = 0; held > 0 && step < kSteps; ++step) {
    const double factor = 2 * std::pow(0.01, static_cast<double>(step) / (kSteps - 1));
    KernelShape trial = shape;
    trial.bandwidth = factor * scott(rest.rows, rows.columns);
    density_log_prob(KernelDensity(std::move(trial), centres), test, log_q);
    double sum = 0;
    for (const double v : log_q) sum += v;
    if (sum <= highest) continue;
    highest = sum;
    best = factor;
  }
  return best;
}

}  // namespace

KernelDensity::KernelDensity(KernelShape shape, std::vector<double> centres)
    : shape_(std::move(shape)), centres_(std::move(centres)), terms_(kernel_terms(shape_, centres_)) {
  require_range(shape_.bandwidth > 0, "the bandwidth of kde", shape_.bandwidth, "a number > 0");
  SELFNORM_CHECK(shape_.mean.size() == dimension() && kernels() > 0);
}

void KernelDensity::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = dimension();
  std::vector<double> draws(rows.size());
  fill_normals(random, draws);
  for (size_t begin = 0; begin < rows.size(); begin += d) {
    const std::span<double> z(draws.data() + begin, d);
    shape_.root.unwhiten(z);
    const double* centre = centres_.data() + random.below(kernels()) * d;
    for (size_t j = 0; j < d; ++j) rows[begin + j] = static_cast<float>(centre[j] + shape_.bandwidth * z[j]);
  }
}

void KernelDensity::whiten(std::span<const float> x, std::span<const double> origin, double* u) const {
  for (size_t j = 0; j < x.size(); ++j) u[j] = (static_cast<double>(x[j]) - origin[j]) / shape_.bandwidth;
  shape_.root.whiten({u, x.size()});
}

void KernelDensity::log_prob(const Points& x, std::span<double> out) const {
  TermSum sum(terms_);
  sum.for_each(
      x.rows, [&](size_t i, double* u) { whiten(x.row(i), shape_.mean, u); },
      [&](size_t i, size_t r) { out[i] = sum.value(r); });
}

void KernelDensity::log_prob_gradient(const Points& x, std::span<double> log_q,
                                      std::span<double> gradient) const {
  TermSum sum(terms_);
  sum.for_each(
      x.rows, [&](size_t i, double* u) { whiten(x.row(i), shape_.mean, u); },
      [&](size_t i, size_t r) {
        log_q[i] = sum.value(r);
        const std::span<double> g = gradient.subspan(i * dimension(), dimension());
        sum.gradient(r, g.data());
        shape_.root.pull_back(g);
        for (double& v : g) v /= shape_.bandwidth;
      });
}

void KernelDensity::directional(const Points& x, const Points& v, std::span<double> first,
                                std::span<double> second) const {
  TermSum sum(terms_);
  const std::vector<double> origin(dimension());
  std::vector<double> direction(dimension());
  sum.for_each(
      x.rows, [&](size_t i, double* u) { whiten(x.row(i), shape_.mean, u); },
      [&](size_t i, size_t r) {
        whiten(v.row(i), origin, direction.data());
        const TermSum::Directional along = sum.directional(r, direction.data());
        first[i] = along.first;
        second[i] = along.second;
      });
}

DensityRecord KernelDensity::record() const {
  return {"kde",
          {{"bandwidth", {shape_.bandwidth}},
           {"mean", shape_.mean},
           {"root", {shape_.root.values().begin(), shape_.root.values().end()}},
           {"centres", centres_}}};
}

std::unique_ptr<KernelDensity> fit_kernel_density(const Points& data, double bandwidth, uint64_t seed) {
  require_finite_points(data);
  const ColumnMoments moments = column_moments(data);
  std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(seed, 2));
  order.resize(std::min(kKernels, data.rows));
  const std::vector<float> rows = data.take(order);
  KernelShape shape{1, moments.mean, fitted_root(data, moments)};
  const Points used{rows.data(), order.size(), data.columns};
  shape.bandwidth =
      bandwidth > 0 ? bandwidth : chosen_factor(used, shape) * scott(order.size(), data.columns);
  return std::make_unique<KernelDensity>(std::move(shape), std::vector<double>(rows.begin(), rows.end()));
}

std::unique_ptr<Density> restore_kernel_density(const DensityRecord& record, uint32_t dimension) {
  constexpr auto kFull = PrecisionRoot::Shape::full;
  const std::vector<double>& centres = record_values(record, "centres", 0);
  if (centres.size() % dimension != 0)
    throw_error("the density 'kde' has {} numbers in centres; expected a multiple of {}; its file is damaged",
                centres.size(), dimension);
  const size_t size = PrecisionRoot::size(kFull, dimension);
  return std::make_unique<KernelDensity>(
      KernelShape{record_values(record, "bandwidth", 1)[0], record_values(record, "mean", dimension),
                  PrecisionRoot(kFull, dimension, record_values(record, "root", size))},
      centres);
}

}  // namespace selfnorm
