#include "proposal/direction/direction_mixture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/special_functions.h"
#include "proposal/density/gaussian_terms.h"

namespace selfnorm {
namespace {

constexpr double kMostLevelsOfColumn = 65536;

using Coordinate = DirectionMixture::Coordinate;
using CoordinateKind = Coordinate::Kind;

double norm(const double* x, size_t n) { return std::sqrt(dot(x, x, n)); }

size_t drawn_place(const std::vector<double>& cumulative, RandomStream& random) {
  return static_cast<size_t>(std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform()) -
                             cumulative.begin());
}

// log(1 + sum_l exp eta_l)
LogSumExp levels_total(const double* eta, size_t size) {
  LogSumExp total;
  total.add(0);
  for (size_t l = 0; l < size; ++l) total.add(eta[l]);
  return total;
}

size_t drawn_level(const double* eta, size_t size, RandomStream& random) {
  const double log_total = levels_total(eta, size).value();
  double left = random.uniform();
  for (size_t l = 0; l < size; ++l)
    if ((left -= std::exp(eta[l] - log_total)) < 0) return l + 1;
  return 0;
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

}  // namespace

DirectionMixture::DirectionMixture(DirectionMap map, std::vector<double> log_weight, std::vector<double> eta)
    : map_(std::move(map)),
      at_(coordinates(map_)),
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

std::vector<Coordinate> DirectionMixture::coordinates(const DirectionMap& map) {
  if (map.is_sphere()) return {{CoordinateKind::sphere, 0, 0, 3}};
  std::vector<Coordinate> out;
  for (size_t j = 0, f = 0; j < map.dimension(); ++j) {
    if (map.levels(j) > 0)
      out.push_back({CoordinateKind::levels, j, f, map.levels(j) - size_t{1}});
    else
      out.push_back({map.is_angle(j) ? CoordinateKind::angle : CoordinateKind::real, j, f, 2});
    f += out.back().size;
  }
  return out;
}

uint32_t DirectionMixture::features(const DirectionMap& map) {
  const Coordinate last = coordinates(map).back();
  return static_cast<uint32_t>(last.feature + last.size);
}

void DirectionMixture::apply(const DirectionMap& map, const float* x, double* out) {
  if (map.is_sphere()) return map.apply(x, out);
  for (size_t j = 0; j < map.dimension(); ++j) {
    const double value = x[j];
    if (map.levels(j) > 0) {
      for (uint32_t l = 1; l < map.levels(j); ++l) *out++ = value == l ? 1 : 0;
      continue;
    }
    *out++ = map.is_angle(j) ? std::cos(value) : value;
    *out++ = map.is_angle(j) ? std::sin(value) : -0.5 * value * value;
  }
}

double DirectionMixture::log_normalizer(const DirectionMap& map, const double* eta) {
  double sum = 0;
  for (const Coordinate& c : coordinates(map)) {
    const double* own = eta + c.feature;
    switch (c.kind) {
      case CoordinateKind::sphere:
        sum += fisher_log_normalizer(norm(own, 3));
        break;
      case CoordinateKind::angle:
        sum += std::log(2 * std::numbers::pi) + bessel_i(norm(own, 2)).log_zero;
        break;
      case CoordinateKind::real:
        sum += 0.5 * (own[0] * own[0] / own[1] - std::log(own[1]) + std::log(2 * std::numbers::pi));
        break;
      case CoordinateKind::levels:
        sum += levels_total(own, c.size).value();
        break;
    }
  }
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

void DirectionMixture::require_derivatives() const {
  if (!support().is_real()) throw Bug("a density of numbers and levels has no derivatives in x");
}

void DirectionMixture::log_prob(const Points& x, std::span<double> out) const {
  for_rows(x, [&](uint64_t i, double log_q, std::span<const double>) { out[i] = log_q; });
}

// Of eta-bar . phi with the mean parameters of a row: the features' derivatives, those of -x^2/2 added.
void DirectionMixture::log_prob_gradient(const Points& x, std::span<double> log_q,
                                         std::span<double> gradient) const {
  require_derivatives();
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
    for (const Coordinate& c : at_) {
      const double at = x.row(i)[c.column];
      const double* m = mean.data() + c.feature;
      dx[c.column] =
          c.kind == CoordinateKind::angle ? std::cos(at) * m[1] - std::sin(at) * m[0] : m[0] - at * m[1];
    }
  });
}

void DirectionMixture::directional(const Points& x, const Points& v, std::span<double> first,
                                   std::span<double> second) const {
  require_derivatives();
  const size_t width = features(map_);
  std::vector<double> one(width), two(width);
  for_rows(x, [&](uint64_t i, double, std::span<const double> share) {
    first[i] = second[i] = 0;
    if (share.empty()) return;
    if (map_.is_sphere()) {
      map_.along(x.row(i).data(), v.row(i).data(), one.data(), two.data());
    } else {
      for (const Coordinate& c : at_) {
        const double at = x.row(i)[c.column], step = v.row(i)[c.column];
        const bool turns = c.kind == CoordinateKind::angle;
        double *own = one.data() + c.feature, *bend = two.data() + c.feature;
        own[0] = turns ? -std::sin(at) * step : step;
        own[1] = turns ? std::cos(at) * step : -at * step;
        bend[0] = turns ? -std::cos(at) * step * step : 0;
        bend[1] = turns ? -std::sin(at) * step * step : -step * step;
      }
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
    for (const Coordinate& c : at_) {
      const double* own = eta + c.feature;
      float& x = rows[begin + c.column];
      switch (c.kind) {
        case CoordinateKind::sphere:
          fisher_draw(eta, random, &x);
          break;
        case CoordinateKind::angle:
          x = static_cast<float>(von_mises_draw(random, std::atan2(own[1], own[0]), norm(own, 2)));
          break;
        case CoordinateKind::real:
          x = static_cast<float>(own[0] / own[1] + random.normal() / std::sqrt(own[1]));
          break;
        case CoordinateKind::levels:
          x = static_cast<float>(drawn_level(own, c.size, random));
          break;
      }
    }
  }
}

DensityRecord DirectionMixture::record() const {
  DensityRecord record{"directions", {{"log_weight", logit_}, {"eta", eta_}}};
  for (size_t j = 0; j < dimension(); ++j)
    record.values["is_angle"].push_back(map_.is_sphere() ? 2 : map_.is_angle(j) ? 1 : 0);
  if (!support().is_real()) record.values["levels"] = {map_.levels().begin(), map_.levels().end()};
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
  std::vector<uint32_t> levels(dimension);
  if (record.values.contains("levels")) {
    const std::vector<double>& stored = record_values(record, "levels", dimension);
    for (uint32_t j = 0; j < dimension; ++j) {
      if (!(stored[j] >= 0 && stored[j] <= kMostLevelsOfColumn && stored[j] == std::floor(stored[j])))
        throw_error("the density 'directions' has {} levels in a column; its file is damaged", stored[j]);
      levels[j] = static_cast<uint32_t>(stored[j]);
    }
  }
  return std::make_unique<DirectionMixture>(
      is_sphere ? DirectionMap::sphere() : DirectionMap::mixed(std::move(is_angle), std::move(levels)),
      record_values(record, "log_weight", 0), record_values(record, "eta", 0));
}

std::unique_ptr<DirectionMixture> uniform_directions(const DirectionMap& map) {
  for (size_t j = 0; j < map.dimension() && !map.is_sphere(); ++j)
    if (!map.is_angle(j)) throw Error("a uniform distribution needs an end in every column; use directions");
  return std::make_unique<DirectionMixture>(map, std::vector<double>{0},
                                            std::vector<double>(DirectionMixture::features(map)));
}

double wrapped_angle(double x) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double out = x - kTurn * std::floor((x + std::numbers::pi) / kTurn);
  return out >= std::numbers::pi ? -std::numbers::pi : out;
}

double von_mises_draw(RandomStream& random, double mu, double kappa) {
  constexpr double kFlat = 1e-6, kNarrow = 1e5;
  if (kappa < kFlat) return wrapped_angle(mu + 2 * std::numbers::pi * random.uniform());
  if (kappa > kNarrow) return wrapped_angle(mu + random.normal() / std::sqrt(kappa));
  const double a = 1 + std::sqrt(1 + 4 * kappa * kappa), b = (a - std::sqrt(2 * a)) / (2 * kappa);
  const double r = (1 + b * b) / (2 * b);
  while (true) {
    const double z = std::cos(std::numbers::pi * random.uniform());
    const double f = (1 + r * z) / (r + z), c = kappa * (r - f), u = random.uniform();
    if (!(c * (2 - c) > u) && !(std::log(c / std::max(u, 1e-300)) + 1 >= c)) continue;
    const double side = random.uniform() < 0.5 ? -1 : 1;
    return wrapped_angle(mu + side * std::acos(std::clamp(f, -1.0, 1.0)));
  }
}

double von_mises_concentration(double r, double most) {
  if (!(r > 0)) return 0;
  double kappa = std::min(most, r < 0.53   ? 2 * r + r * r * r + 5 * std::pow(r, 5) / 6
                                : r < 0.85 ? -0.4 + 1.39 * r + 0.43 / (1 - r)
                                           : 1 / (r * (1 - r) * (3 - r)));  // Fisher 1993
  for (int i = 0; i < 20 && kappa < most; ++i) {
    const double ratio = bessel_i(kappa).ratio;
    const double slope = 1 - ratio * ratio - (kappa > 0 ? ratio / kappa : 0.5);
    const double step = (ratio - r) / std::max(slope, 1e-12);
    kappa = std::clamp(kappa - step, 0.5 * kappa, std::min(most, 2 * kappa + 1e-3));
    if (std::abs(step) < 1e-10 * (1 + kappa)) break;
  }
  return std::min(kappa, most);
}

double fisher_log_normalizer(double kappa) {
  if (kappa < 1e-4) return std::log(4 * std::numbers::pi) + kappa * kappa / 6;
  return std::log(2 * std::numbers::pi) + kappa + std::log1p(-std::exp(-2 * kappa)) - std::log(kappa);
}

double fisher_mean(double kappa) { return kappa < 1e-3 ? kappa / 3 : 1 / std::tanh(kappa) - 1 / kappa; }

// By bisection of a monotone function.
double fisher_concentration(double r, double most) {
  if (!(r > 1e-6)) return 3 * std::max(r, 0.0);
  double low = 0, high = most;
  for (int i = 0; i < 80; ++i) {
    const double k = 0.5 * (low + high);
    (fisher_mean(k) < r ? low : high) = k;
  }
  return 0.5 * (low + high);
}

}  // namespace selfnorm
