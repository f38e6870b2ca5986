#include "proposal/direction/direction_mixture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/special_functions.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/mixture_em.h"
#include "proposal/density/precision_root.h"
#include "proposal/direction/von_mises.h"

namespace selfnorm {
namespace {

constexpr double kMostConcentration = 1e5;
constexpr uint64_t kDirectionStream = 0xD1EC, kMostKernels = 10'000;
constexpr size_t kDirectionPieces = 8, kDirectionTile = 64;
constexpr double kPriorRows = 1;

// f(j, first feature of the coordinate j, its kind): of the sphere once, as an angle of three features.
template <class Body>
void for_coordinates(const DirectionMap& map, const Body& body) {
  if (map.is_sphere()) return body(size_t{0}, size_t{0}, size_t{3});
  for (size_t j = 0, f = 0; j < map.dimension(); ++j, f += 2)
    body(j, f, map.is_angle(j) ? size_t{2} : size_t{0});
}

double norm(const double* x, size_t n) { return std::sqrt(dot(x, x, n)); }

// log(4 pi sinh(k) / k)
double fisher_log_normalizer(double k) {
  if (k < 1e-4) return std::log(4 * std::numbers::pi) + k * k / 6;
  return std::log(2 * std::numbers::pi) + k + std::log1p(-std::exp(-2 * k)) - std::log(k);
}

// k with coth(k) - 1/k = r, by bisection of a monotone function.
double fisher_concentration(double r) {
  if (!(r > 1e-6)) return 3 * std::max(r, 0.0);
  double low = 0, high = kMostConcentration;
  for (int i = 0; i < 80; ++i) {
    const double k = 0.5 * (low + high);
    const double mean = k < 1e-3 ? k / 3 : 1 / std::tanh(k) - 1 / k;
    (mean < r ? low : high) = k;
  }
  return 0.5 * (low + high);
}

size_t drawn_place(const std::vector<double>& cumulative, RandomStream& random) {
  return static_cast<size_t>(std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform()) -
                             cumulative.begin());
}

// A unit vector of the von Mises-Fisher distribution eta (Ulrich 1984, in three dimensions in closed form),
// as (longitude, z).
void fisher_draw(const double* eta, RandomStream& random, float* out) {
  const double kappa = norm(eta, 3), u = random.uniform();
  const double along =
      kappa < 1e-6 ? 2 * u - 1
                   : std::clamp(1 + std::log(u + (1 - u) * std::exp(-2 * kappa) + 1e-300) / kappa, -1.0, 1.0);
  const double turn = 2 * std::numbers::pi * random.uniform(),
               across = std::sqrt(std::max(0.0, 1 - along * along));
  double mu[3] = {0, 0, 1};
  if (kappa >= 1e-6)
    for (size_t i = 0; i < 3; ++i) mu[i] = eta[i] / kappa;
  // Two directions at right angles to mu.
  const size_t least = std::abs(mu[0]) < std::abs(mu[1]) ? (std::abs(mu[0]) < std::abs(mu[2]) ? 0 : 2)
                                                         : (std::abs(mu[1]) < std::abs(mu[2]) ? 1 : 2);
  double a[3] = {0, 0, 0}, b[3];
  a[least] = 1;
  for (size_t i = 0; i < 3; ++i) a[i] -= mu[least] * mu[i];
  const double size = norm(a, 3);
  for (double& v : a) v /= size;
  b[0] = mu[1] * a[2] - mu[2] * a[1];
  b[1] = mu[2] * a[0] - mu[0] * a[2];
  b[2] = mu[0] * a[1] - mu[1] * a[0];
  double x[3];
  for (size_t i = 0; i < 3; ++i)
    x[i] = along * mu[i] + across * (std::cos(turn) * a[i] + std::sin(turn) * b[i]);
  out[0] = static_cast<float>(std::atan2(x[1], x[0]));
  out[1] = static_cast<float>(std::clamp(x[2], -1.0, 1.0));
}

class DirectionEm {
 public:
  DirectionEm(const Points& data, const DirectionMap& map, const DirectionFitOptions& options)
      : map_(map),
        options_(options),
        width_(DirectionMixture::features(map)),
        n_(data.rows),
        phi_(n_ * width_) {
    for (size_t i = 0; i < n_; ++i)
      DirectionMixture::apply(map, data.row(i).data(), phi_.data() + i * width_);
    mean_.resize(width_);
    for (size_t i = 0; i < n_; ++i)
      for (size_t f = 0; f < width_; ++f) mean_[f] += phi_[i * width_ + f] / static_cast<double>(n_);
  }

  DirectionFit run() {
    // k-means++ sees real coordinates in units of their spread.
    std::vector<double> seen = phi_;
    for_coordinates(map_, [&](size_t, size_t f, size_t size) {
      if (size > 0) return;
      const double scale = std::sqrt(variance(f));
      for (size_t i = 0; i < n_; ++i) {
        seen[i * width_ + f] = (phi_[i * width_ + f] - mean_[f]) / scale;
        seen[i * width_ + f + 1] = 0;
      }
    });
    const auto nearest =
        plus_plus_clusters(seen, static_cast<uint32_t>(width_), options_.components, options_.seed);
    const size_t k = *std::ranges::max_element(nearest) + size_t{1};
    Sums sums{std::vector<double>(k), std::vector<double>(k * width_), 0};
    for (size_t i = 0; i < n_; ++i) {
      ++sums.component[nearest[i]];
      add_scaled(1.0, phi_.data() + i * width_, sums.feature.data() + nearest[i] * width_, width_);
    }
    DirectionFit out;
    for (uint64_t i = 0;; ++i) {
      out.density = maximised(sums);
      sums = expectation(*out.density);
      out.trace.push_back(sums.log_likelihood / static_cast<double>(n_));
      const size_t last = out.trace.size() - 1;
      if (i == options_.iterations ||
          (last > 0 && out.trace[last] - out.trace[last - 1] < options_.tolerance))
        return out;
    }
  }

 private:
  struct Sums {
    std::vector<double> component, feature;  // K; K x features
    double log_likelihood = 0;
  };

  // Of a real coordinate with the features f, f + 1.
  double variance(size_t f) const { return std::max(-2 * mean_[f + 1] - mean_[f] * mean_[f], 1e-12); }

  std::unique_ptr<DirectionMixture> maximised(const Sums& sums) const {
    const size_t k = sums.component.size();
    std::vector<double> log_weight(k), eta(k * width_);
    const double shrink = std::pow(static_cast<double>(k), -2.0 / map_.dimension());
    for (size_t c = 0; c < k; ++c) {
      const double rows = sums.component[c] + kPriorRows;
      log_weight[c] = std::log(rows);
      for_coordinates(map_, [&](size_t, size_t f, size_t size) {
        const double* sum = sums.feature.data() + c * width_ + f;
        double* own = eta.data() + c * width_ + f;
        if (size == 0) {
          const double count = std::max(sums.component[c], 1e-9), m = sum[0] / count;
          const double spread =
              std::max(-2 * sum[1] - count * m * m, 0.0) + kPriorRows * variance(f) * shrink;
          own[1] = 1 / std::max(spread / rows, 1e-6 * variance(f));
          own[0] = m * own[1];
          return;
        }
        const double length = norm(sum, size), narrow = 1 - (1 - norm(mean_.data() + f, size)) * shrink;
        const double r = std::min((length + kPriorRows * narrow) / rows, 1 - 1e-9);
        const double kappa =
            size == 3 ? fisher_concentration(r) : von_mises_concentration(r, kMostConcentration);
        for (size_t i = 0; i < size; ++i) own[i] = length > 0 ? kappa * sum[i] / length : 0;
      });
    }
    return std::make_unique<DirectionMixture>(map_, std::move(log_weight), std::move(eta));
  }

  Sums expectation(const DirectionMixture& q) const {
    const size_t k = q.components(), grain = (n_ + kDirectionPieces - 1) / kDirectionPieces;
    std::vector<double> start(k), eta(width_ * k);
    q.terms(start, eta);
    std::vector<Sums> part((n_ + grain - 1) / grain);
    parallel_ranges(n_, grain, [&](size_t first, size_t end) {
      Sums& own = part[first / grain];
      own = {std::vector<double>(k), std::vector<double>(k * width_), 0};
      std::vector<double> share(kDirectionTile * k);
      for (size_t tile = first; tile < end; tile += kDirectionTile) {
        const size_t n = std::min(kDirectionTile, end - tile);
        for (size_t i = 0; i < n; ++i)
          std::ranges::copy(start, share.begin() + static_cast<std::ptrdiff_t>(i * k));
        gemm(n, k, width_, phi_.data() + tile * width_, width_, eta.data(), k, 1.0, share.data(), k);
        for (size_t i = 0; i < n; ++i) {
          const LogSumExp total = exp_in_place(share.data() + i * k, k);
          own.log_likelihood += total.value();
          scale(1 / total.sum, share.data() + i * k, k);
          add_scaled(1.0, share.data() + i * k, own.component.data(), k);
        }
        gemm_transposed(k, width_, n, share.data(), k, phi_.data() + tile * width_, width_,
                        own.feature.data(), width_);
      }
    });
    for (size_t p = 1; p < part.size(); ++p) {
      add_scaled(1.0, part[p].component.data(), part[0].component.data(), k);
      add_scaled(1.0, part[p].feature.data(), part[0].feature.data(), k * width_);
      part[0].log_likelihood += part[p].log_likelihood;
    }
    return std::move(part[0]);
  }

  const DirectionMap& map_;
  const DirectionFitOptions& options_;
  size_t width_, n_;
  std::vector<double> phi_, mean_;
};

std::vector<float> some_rows(const Points& data, uint64_t most, uint64_t seed) {
  std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(seed, kDirectionStream));
  order.resize(std::min(data.rows, most));
  return data.take(order);
}

}  // namespace

DirectionMixture::DirectionMixture(DirectionMap map, std::vector<double> log_weight, std::vector<double> eta)
    : map_(std::move(map)),
      logit_(std::move(log_weight)),
      log_weight_(log_shares(logit_)),
      eta_(std::move(eta)) {
  const size_t k = components(), width = features(map_);
  if (k == 0 || eta_.size() != k * width)
    throw_error("a mixture of directions has {} numbers for {} components of {}", eta_.size(), k, width);
  transposed_.resize(eta_.size());
  double below = 0;
  for (size_t c = 0; c < k; ++c) {
    constant_.push_back(log_weight_[c] - log_normalizer(map_, eta_.data() + c * width));
    if (!std::isfinite(constant_[c])) throw Error("a mixture of directions has numbers that are no density");
    cumulative_.push_back(below += std::exp(log_weight_[c]));
    for (size_t f = 0; f < width; ++f) transposed_[f * k + c] = eta_[c * width + f];
  }
  cumulative_.back() = kInfinity;
}

uint32_t DirectionMixture::features(const DirectionMap& map) {
  uint32_t count = map.features();
  for (size_t j = 0; j < map.dimension() && !map.is_sphere(); ++j) count += map.is_angle(j) ? 0 : 1;
  return count;
}

void DirectionMixture::apply(const DirectionMap& map, const float* x, double* out) {
  if (map.is_sphere()) return map.apply(x, out);
  for_coordinates(map, [&](size_t j, size_t f, size_t size) {
    const double value = x[j];
    out[f] = size > 0 ? std::cos(value) : value;
    out[f + 1] = size > 0 ? std::sin(value) : -0.5 * value * value;
  });
}

double DirectionMixture::log_normalizer(const DirectionMap& map, const double* eta) {
  double sum = 0;
  for_coordinates(map, [&](size_t, size_t f, size_t size) {
    if (size == 3) sum += fisher_log_normalizer(norm(eta, 3));
    if (size == 2) sum += std::log(2 * std::numbers::pi) + bessel_i(norm(eta + f, 2)).log_zero;
    if (size == 0)
      sum += 0.5 * (eta[f] * eta[f] / eta[f + 1] - std::log(eta[f + 1]) + std::log(2 * std::numbers::pi));
  });
  return sum;
}

void DirectionMixture::terms(std::span<double> start, std::span<double> eta) const {
  std::ranges::copy(constant_, start.begin());
  std::ranges::copy(transposed_, eta.begin());
}

template <class Body>
void DirectionMixture::for_rows(const Points& x, const Body& body) const {
  const size_t k = components(), width = features(map_);
  std::vector<double> phi(width), share(k);
  const Support where = support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (!contains(where, x.row(i))) {
      body(i, -kInfinity, std::span<const double>());
      continue;
    }
    apply(map_, x.row(i).data(), phi.data());
    share = constant_;
    for (size_t f = 0; f < width; ++f) add_scaled(phi[f], transposed_.data() + f * k, share.data(), k);
    const LogSumExp total = exp_in_place(share.data(), k);
    scale(1 / total.sum, share.data(), k);
    body(i, total.value(), std::span<const double>(share));
  }
}

void DirectionMixture::log_prob(const Points& x, std::span<double> out) const {
  for_rows(x, [&](uint64_t i, double log_q, std::span<const double>) { out[i] = log_q; });
}

// Of eta-bar . phi with the mean parameters of a row: the features' derivatives, those of -x^2/2 added.
void DirectionMixture::log_prob_gradient(const Points& x, std::span<double> log_q,
                                         std::span<double> gradient) const {
  const size_t width = features(map_), d = dimension();
  std::vector<double> mean(width), g(map_.features());
  for_rows(x, [&](uint64_t i, double value, std::span<const double> share) {
    log_q[i] = value;
    double* dx = gradient.data() + i * d;
    std::fill_n(dx, d, 0.0);
    if (share.empty()) return;
    for (size_t f = 0; f < width; ++f)
      mean[f] = dot(share.data(), transposed_.data() + f * share.size(), share.size());
    if (map_.is_sphere()) return map_.pull_back(x.row(i).data(), mean.data(), dx);
    for_coordinates(map_, [&](size_t j, size_t f, size_t size) {
      const double at = x.row(i)[j];
      dx[j] = size > 0 ? std::cos(at) * mean[f + 1] - std::sin(at) * mean[f] : mean[f] - at * mean[f + 1];
    });
  });
}

void DirectionMixture::directional(const Points& x, const Points& v, std::span<double> first,
                                   std::span<double> second) const {
  const size_t width = features(map_);
  std::vector<double> one(width), two(width);
  for_rows(x, [&](uint64_t i, double, std::span<const double> share) {
    first[i] = second[i] = 0;
    if (share.empty()) return;
    if (map_.is_sphere()) {
      map_.along(x.row(i).data(), v.row(i).data(), one.data(), two.data());
    } else {
      for_coordinates(map_, [&](size_t j, size_t f, size_t size) {
        const double at = x.row(i)[j], step = v.row(i)[j];
        one[f] = size > 0 ? -std::sin(at) * step : step;
        one[f + 1] = size > 0 ? std::cos(at) * step : -at * step;
        two[f] = size > 0 ? -std::cos(at) * step * step : 0;
        two[f + 1] = size > 0 ? -std::sin(at) * step * step : -step * step;
      });
    }
    for (size_t c = 0; c < share.size(); ++c) {
      const double g = dot(eta_.data() + c * width, one.data(), width);
      first[i] += share[c] * g;
      second[i] += share[c] * (dot(eta_.data() + c * width, two.data(), width) + g * g);
    }
    second[i] -= first[i] * first[i];
  });
}

void DirectionMixture::sample(RandomStream& random, std::span<float> rows) const {
  const size_t width = features(map_), d = dimension();
  for (size_t begin = 0; begin < rows.size(); begin += d) {
    const double* eta = eta_.data() + drawn_place(cumulative_, random) * width;
    for_coordinates(map_, [&](size_t j, size_t f, size_t size) {
      if (size == 3) return fisher_draw(eta, random, rows.data() + begin);
      const double value = size == 2
                               ? von_mises_draw(random, std::atan2(eta[f + 1], eta[f]), norm(eta + f, 2))
                               : eta[f] / eta[f + 1] + random.normal() / std::sqrt(eta[f + 1]);
      rows[begin + j] = static_cast<float>(value);
    });
  }
}

DensityRecord DirectionMixture::record() const {
  DensityRecord record{"directions", {{"log_weight", logit_}, {"eta", eta_}}};
  for (size_t j = 0; j < dimension(); ++j)
    record.values["is_angle"].push_back(map_.is_sphere() ? 2 : map_.is_angle(j) ? 1 : 0);
  return record;
}

std::unique_ptr<Density> restore_direction_mixture(const DensityRecord& record, uint32_t dimension) {
  const std::vector<double>& kind = record_values(record, "is_angle", dimension);
  std::vector<bool> is_angle;
  is_angle.reserve(kind.size());
  for (const double k : kind) is_angle.push_back(k == 1);
  const bool is_sphere = std::ranges::all_of(kind, [](double k) { return k == 2; });
  if (is_sphere && dimension != 2)
    throw Error("a mixture on the sphere has two columns; its file is damaged");
  return std::make_unique<DirectionMixture>(
      is_sphere ? DirectionMap::sphere() : DirectionMap::angles(std::move(is_angle)),
      record_values(record, "log_weight", 0), record_values(record, "eta", 0));
}

std::unique_ptr<DirectionMixture> uniform_directions(const DirectionMap& map) {
  for (size_t j = 0; j < map.dimension() && !map.is_sphere(); ++j)
    if (!map.is_angle(j)) throw Error("a uniform distribution needs an end in every column; use directions");
  return std::make_unique<DirectionMixture>(map, std::vector<double>{0},
                                            std::vector<double>(DirectionMixture::features(map)));
}

DirectionFit fit_direction_mixture(const Points& data, const DirectionMap& map,
                                   const DirectionFitOptions& options) {
  require_finite_points(data);
  SELFNORM_CHECK(options.components > 0);
  const std::vector<float> rows = some_rows(data, options.rows, options.seed);
  return DirectionEm({rows.data(), rows.size() / data.columns, data.columns}, map, options).run();
}

namespace {

std::unique_ptr<DirectionMixture> kernels_of(const Points& centres, const DirectionMap& map,
                                             double concentration) {
  const size_t width = DirectionMixture::features(map);
  std::vector<double> eta(centres.rows * width), spread(map.dimension()), mean(map.dimension());
  for (size_t j = 0; j < map.dimension(); ++j) {
    for (uint64_t i = 0; i < centres.rows; ++i)
      mean[j] += static_cast<double>(centres.row(i)[j]) / static_cast<double>(centres.rows);
    for (uint64_t i = 0; i < centres.rows; ++i)
      spread[j] +=
          std::pow(static_cast<double>(centres.row(i)[j]) - mean[j], 2) / static_cast<double>(centres.rows);
  }
  for (uint64_t i = 0; i < centres.rows; ++i) {
    double* own = eta.data() + i * width;
    DirectionMixture::apply(map, centres.row(i).data(), own);
    for_coordinates(map, [&](size_t j, size_t f, size_t size) {
      for (size_t s = 0; s < size; ++s) own[f + s] *= concentration;
      if (size > 0) return;
      own[f + 1] = concentration / std::max(spread[j], 1e-12);
      own[f] = static_cast<double>(centres.row(i)[j]) * own[f + 1];
    });
  }
  return std::make_unique<DirectionMixture>(map, std::vector<double>(centres.rows, 0.0), std::move(eta));
}

}  // namespace

double kernel_concentration(const Points& data, const DirectionMap& map, uint64_t seed) {
  constexpr uint64_t kTried = 6000;
  const std::vector<float> rows = some_rows(data, kTried, seed);
  const uint64_t n = rows.size() / data.columns,
                 judges = std::max<uint64_t>(1, std::min<uint64_t>(n / 5, 1000));
  if (n < 3) return 1;
  const Points all{rows.data(), n, data.columns};
  std::vector<double> log_q(judges);
  double best = 1, most = -kInfinity;
  for (double concentration = 0.25; concentration <= kMostConcentration; concentration *= 2) {
    density_log_prob(*kernels_of(all.slice(judges, n), map, concentration), all.slice(0, judges), log_q);
    double sum = 0;
    for (const double l : log_q) sum += l;
    if (sum <= most) continue;
    most = sum;
    best = concentration;
  }
  return best;
}

std::unique_ptr<DirectionMixture> fit_direction_kernels(const Points& data, const DirectionMap& map,
                                                        double concentration, uint64_t seed) {
  require_finite_points(data);
  const std::vector<float> rows = some_rows(data, kMostKernels, seed);
  return kernels_of({rows.data(), rows.size() / data.columns, data.columns}, map,
                    concentration > 0 ? concentration : kernel_concentration(data, map, seed));
}

}  // namespace selfnorm
