#include "model/energy/natural_domain.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "data/points/direction_map.h"

namespace selfnorm {
namespace {

using Kind = Statistic::Kind;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kInside = 1e-9;         // how far inside a bound of 0 projected coefficients are
constexpr double kFloatShare = 1e-6;     // and of another bound, so that rounding to float stays inside
constexpr double kSmallestShare = 1e-6;  // of the eigenvalues of a projected precision, in the largest one
constexpr double kLargestRate = 700;     // counts: exp(eta) stays finite

Eigen::Map<const Matrix> as_matrix(const std::vector<double>& p, uint32_t d) { return {p.data(), d, d}; }

const char* name_of(Kind kind) { return statistic_names()[static_cast<size_t>(kind)].c_str(); }

double positive(double x) { return std::max(x, static_cast<double>(std::numeric_limits<float>::min())); }

// A function of one coordinate and its first two derivatives.
StatisticJet one_coordinate(Statistic::Kind kind, double x) {
  if (kind == Kind::x) return {x, 1, 0};
  if (kind == Kind::x2) return {x * x, 2 * x, 2};
  if (kind == Kind::x3) return {x * x * x, 3 * x * x, 6 * x};
  if (kind == Kind::x4) return {x * x * x * x, 4 * x * x * x, 12 * x * x};
  if (kind == Kind::abs) return {std::abs(x), x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0, 0};
  if (kind == Kind::log) return {std::log(positive(x)), 1 / positive(x), -1 / (positive(x) * positive(x))};
  if (kind == Kind::cos) return {std::cos(x), -std::sin(x), -std::cos(x)};
  if (kind == Kind::sin) return {std::sin(x), std::cos(x), -std::sin(x)};
  return {};
}

// cc, cs, sc, ss: the functions of the two coordinates.
Kind first_of(Kind kind) { return kind == Kind::cc || kind == Kind::cs ? Kind::cos : Kind::sin; }
Kind second_of(Kind kind) { return kind == Kind::cc || kind == Kind::sc ? Kind::cos : Kind::sin; }

// The unit vector of a point and its derivatives along v.
struct SphereJet {
  double u[3], first[3], second[3];
};
SphereJet sphere_jet(const float* x, const float* v) {
  static const DirectionMap map = DirectionMap::sphere();
  SphereJet out;
  map.apply(x, out.u);
  map.along(x, v, out.first, out.second);
  return out;
}

}  // namespace

std::vector<double> precision_matrix(std::span<const Statistic> statistics, std::span<const double> eta,
                                     uint32_t dimension) {
  std::vector<double> p(size_t{dimension} * dimension);
  for (size_t k = 0; k < statistics.size(); ++k) {
    const auto& [kind, i, j] = statistics[k];
    if (kind == Kind::x2) p[size_t{i} * dimension + i] -= 2 * eta[k];
    if (kind == Kind::xx) {
      p[size_t{i} * dimension + j] -= eta[k];
      p[size_t{j} * dimension + i] -= eta[k];
    }
  }
  return p;
}

NaturalDomain::NaturalDomain(std::vector<Statistic> statistics, const Support& support, uint32_t dimension)
    : statistics_(std::move(statistics)), dimension_(dimension) {
  if (support.space == Support::Space::levels) return;
  if (support.space == Support::Space::counts) {
    for (size_t k = 0; k < statistics_.size(); ++k) bounds_.push_back({k, k, 1, kLargestRate});
    return;
  }
  const auto lower = [&](uint32_t i) { return support.lower.empty() ? -INFINITY : support.lower[i]; };
  const auto upper = [&](uint32_t i) { return support.upper.empty() ? INFINITY : support.upper[i]; };
  bool is_bounded = true, is_one_sided = true;
  for (uint32_t i = 0; i < dimension; ++i) {
    is_bounded &= std::isfinite(lower(i)) && std::isfinite(upper(i));
    is_one_sided &= std::isfinite(lower(i)) || std::isfinite(upper(i));
  }
  for (size_t k = 0; k < statistics_.size(); ++k) {
    if (statistics_[k].kind != Kind::log) continue;
    if (lower(statistics_[k].i) < 0)
      throw_error(
          "the statistic log needs x >= 0, but the support starts at {}; give a box with a lower side of at "
          "least 0",
          lower(statistics_[k].i));
    if (lower(statistics_[k].i) == 0) bounds_.push_back({k, k, -1, 1});
  }
  if (is_bounded) return;

  if (has(Kind::x4))
    leader_ = Leader::x4;
  else if (has(Kind::x3) && is_one_sided)
    leader_ = Leader::x3;
  else if (has(Kind::x2) && !has(Kind::x3))
    leader_ = Leader::x2;
  else if (has(Kind::abs) && !has(Kind::xx) && !has(Kind::x3))
    leader_ = Leader::abs;
  else if (has(Kind::x) && is_one_sided && !has(Kind::xx))
    leader_ = Leader::x;
  else
    throw Error(
        "no density on an infinite support has these statistics alone: nothing makes it decay; add x2, x4 or "
        "abs, or give a box");

  const auto place = [&](Kind kind, uint32_t i) {
    size_t k = 0;
    while (k < statistics_.size() && (statistics_[k].kind != kind || statistics_[k].i != i)) ++k;
    return k;
  };
  for (size_t k = 0; k < statistics_.size(); ++k) {
    const auto& [kind, i, j] = statistics_[k];
    if (std::isfinite(lower(i)) && std::isfinite(upper(i))) continue;
    if (leader_ == Leader::x4 && kind == Kind::x4) bounds_.push_back({k, k, 1, 0});
    if ((leader_ == Leader::x3 && kind == Kind::x3) || (leader_ == Leader::x && kind == Kind::x))
      bounds_.push_back({k, k, std::isfinite(lower(i)) ? 1.0 : -1.0, 0});
    if (leader_ == Leader::abs && kind == Kind::abs)
      bounds_.push_back({k, has(Kind::x) ? place(Kind::x, i) : k, 1, 0});
  }
}

bool NaturalDomain::has(Kind kind) const {
  return std::any_of(statistics_.begin(), statistics_.end(),
                     [&](const Statistic& t) { return t.kind == kind; });
}

double NaturalDomain::excess(const Bound& b, std::span<const double> eta) const {
  return b.sign * eta[b.k] + (b.partner == b.k ? 0 : std::abs(eta[b.partner])) - b.bound;
}

std::vector<double> NaturalDomain::start() const {
  std::vector<double> eta(statistics_.size());
  for (size_t k = 0; k < eta.size(); ++k)
    if (leader_ == Leader::x2 && statistics_[k].kind == Kind::x2) eta[k] = -0.5;
  for (const Bound& b : bounds_)
    if (b.bound == 0) eta[b.k] = b.sign * (statistics_[b.k].kind == Kind::x4 ? -0.25 : -1);
  return eta;
}

std::string NaturalDomain::violation(std::span<const double> eta) const {
  SELFNORM_CHECK(eta.size() == statistics_.size());
  for (size_t k = 0; k < eta.size(); ++k)
    if (!std::isfinite(eta[k]))
      return fmt::format("the coefficient of {} of coordinate {} is {}; it has to be finite",
                         name_of(statistics_[k].kind), statistics_[k].i, eta[k]);
  for (const Bound& b : bounds_)
    if (!(excess(b, eta) < 0))
      return fmt::format(
          "the coefficient of {} of coordinate {} is {}; the density can be normalised only {} {}{}",
          name_of(statistics_[b.k].kind), statistics_[b.k].i, eta[b.k], b.sign > 0 ? "below" : "above",
          b.sign * b.bound, b.partner == b.k ? "" : " minus the size of that of x");
  if (leader_ == Leader::x2 && !is_valid_precision(eta))
    return "the precision matrix is not positive definite, so the density cannot be normalised on an "
           "infinite support";
  return "";
}

void NaturalDomain::project(std::span<double> eta) const {
  for (const Bound& b : bounds_) {
    if (!(excess(b, eta) >= 0)) continue;
    const double partner = b.partner == b.k ? 0 : std::abs(eta[b.partner]);
    const double inside = kInside + kFloatShare * (std::abs(b.bound) + partner);
    eta[b.k] = b.sign * (b.bound - partner - inside);
  }
  if (leader_ == Leader::x2 && !is_valid_precision(eta)) project_precision(eta);
}

bool NaturalDomain::is_valid_precision(std::span<const double> eta) const {
  const std::vector<double> p = precision_matrix(statistics_, eta, dimension_);
  const Eigen::LLT<Matrix> factor(as_matrix(p, dimension_));
  return factor.info() == Eigen::Success;
}

void NaturalDomain::project_precision(std::span<double> eta) const {
  const std::vector<double> p = precision_matrix(statistics_, eta, dimension_);
  if (!as_matrix(p, dimension_).allFinite()) return;
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(as_matrix(p, dimension_));
  const auto& values = solver.eigenvalues();
  const double floor = std::max(kInside, kSmallestShare * values.cwiseAbs().maxCoeff());
  const Matrix nearest =
      solver.eigenvectors() * values.cwiseMax(floor).asDiagonal() * solver.eigenvectors().transpose();
  for (size_t k = 0; k < eta.size(); ++k) {
    const auto& [kind, i, j] = statistics_[k];
    if (kind == Kind::x2) eta[k] = -nearest(i, i) / 2;
    if (kind == Kind::xx) eta[k] = -nearest(i, j);
  }
}

double Statistic::value(const float* x) const {
  if (is_of_sphere()) {
    double u[3];
    static const DirectionMap map = DirectionMap::sphere();
    map.apply(x, u);
    return kind == Kind::u ? u[i] : u[i] * u[j];
  }
  const double a = x[i];
  if (kind == Kind::x) return a;
  if (kind == Kind::x2) return a * a;
  if (kind == Kind::xx) return a * static_cast<double>(x[j]);
  if (is_of_one()) return one_coordinate(kind, a).value;
  return one_coordinate(first_of(kind), a).value * one_coordinate(second_of(kind), x[j]).value;
}

StatisticJet Statistic::along(const float* x, const float* v) const {
  if (is_of_sphere()) {
    const SphereJet s = sphere_jet(x, v);
    if (kind == Kind::u) return {s.u[i], s.first[i], s.second[i]};
    return {s.u[i] * s.u[j], s.u[i] * s.first[j] + s.first[i] * s.u[j],
            s.u[i] * s.second[j] + 2 * s.first[i] * s.first[j] + s.second[i] * s.u[j]};
  }
  const double a = x[i], u = v[i];
  if (is_of_one()) {
    const StatisticJet f = one_coordinate(kind, a);
    return {f.value, f.first * u, f.second * u * u};
  }
  const double b = x[j], w = v[j];
  const bool is_plain = kind == Kind::xx;
  const StatisticJet f = one_coordinate(is_plain ? Kind::x : first_of(kind), a),
                     g = one_coordinate(is_plain ? Kind::x : second_of(kind), b);
  return {f.value * g.value, f.value * g.first * w + f.first * u * g.value,
          f.value * g.second * w * w + 2 * f.first * g.first * u * w + f.second * u * u * g.value};
}

void Statistic::add_gradient(const float* x, double d, double* dx) const {
  if (is_of_one()) {
    dx[i] += d * one_coordinate(kind, x[i]).first;
    return;
  }
  if (kind == Kind::xx) {
    dx[i] += d * static_cast<double>(x[j]);
    dx[j] += d * static_cast<double>(x[i]);
    return;
  }
  constexpr float kAlong[2][2] = {{1, 0}, {0, 1}};
  if (is_of_sphere()) {
    for (size_t c = 0; c < 2; ++c) dx[c] += d * along(x, kAlong[c]).first;
    return;
  }
  const StatisticJet f = one_coordinate(first_of(kind), x[i]), g = one_coordinate(second_of(kind), x[j]);
  dx[i] += d * f.first * g.value;
  dx[j] += d * f.value * g.first;
}

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names = {"x",  "x2", "x3", "x4", "abs", "log", "cos", "sin",
                                                 "xx", "cc", "cs", "sc", "ss",  "u",   "uu"};
  return names;
}

std::vector<Statistic> make_statistics(const std::string& name, uint32_t dimension) {
  const std::vector<std::string>& names = statistic_names();
  require_one_of("statistic", name, names);
  const auto kind = static_cast<Statistic::Kind>(std::find(names.begin(), names.end(), name) - names.begin());
  if (kind == Kind::u || kind == Kind::uu) {
    if (dimension != 2)
      throw_error("the statistic {} is of points of the sphere, found {} columns; use `space sphere`", name,
                  dimension);
    if (kind == Kind::u) return {{kind, 0, 0}, {kind, 1, 1}, {kind, 2, 2}};
    return {{kind, 0, 0}, {kind, 1, 1}, {kind, 0, 1}, {kind, 0, 2}, {kind, 1, 2}};
  }
  std::vector<Statistic> out;
  for (uint32_t i = 0; i < dimension; ++i) {
    if (kind < Kind::xx)
      out.push_back({kind, i, i});
    else
      for (uint32_t j = i + 1; j < dimension; ++j) out.push_back({kind, i, j});
  }
  return out;
}

}  // namespace selfnorm
