#include "model/energy/statistic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/range.h"

namespace selfnorm {
namespace {

double positive(double x) { return std::max(x, static_cast<double>(std::numeric_limits<float>::min())); }

// A function of one coordinate and its first two derivatives.
StatisticJet one_coordinate(Statistic::Kind kind, double x) {
  switch (kind) {
    case Statistic::Kind::x:
      return {x, 1, 0};
    case Statistic::Kind::x2:
      return {x * x, 2 * x, 2};
    case Statistic::Kind::x3:
      return {x * x * x, 3 * x * x, 6 * x};
    case Statistic::Kind::x4:
      return {x * x * x * x, 4 * x * x * x, 12 * x * x};
    case Statistic::Kind::abs:
      return {std::abs(x), x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0, 0};
    case Statistic::Kind::log:
      return {std::log(positive(x)), 1 / positive(x), -1 / (positive(x) * positive(x))};
    case Statistic::Kind::cos:
      return {std::cos(x), -std::sin(x), -std::cos(x)};
    case Statistic::Kind::sin:
      return {std::sin(x), std::cos(x), -std::sin(x)};
    case Statistic::Kind::xx:
      break;
  }
  return {};
}

}  // namespace

double Statistic::value(const float* x) const {
  const double a = x[i];
  switch (kind) {
    case Kind::x:
      return a;
    case Kind::x2:
      return a * a;
    case Kind::xx:
      return a * static_cast<double>(x[j]);
    default:
      return one_coordinate(kind, a).value;
  }
}

StatisticJet Statistic::along(const float* x, const float* v) const {
  const double a = x[i], u = v[i];
  if (kind == Kind::xx) {
    const double b = x[j], w = v[j];
    return {a * b, a * w + u * b, 2 * u * w};
  }
  const StatisticJet f = one_coordinate(kind, a);
  return {f.value, f.first * u, f.second * u * u};
}

void Statistic::add_gradient(const float* x, double d, double* dx) const {
  if (kind == Kind::xx) {
    dx[i] += d * static_cast<double>(x[j]);
    dx[j] += d * static_cast<double>(x[i]);
  } else {
    dx[i] += d * one_coordinate(kind, x[i]).first;
  }
}

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names = {"x", "x2", "x3", "x4", "abs", "log", "cos", "sin", "xx"};
  return names;
}

std::vector<Statistic> make_statistics(const std::string& name, uint32_t dimension) {
  const std::vector<std::string>& names = statistic_names();
  require_one_of("statistic", name, names);
  const auto kind = static_cast<Statistic::Kind>(std::find(names.begin(), names.end(), name) - names.begin());
  std::vector<Statistic> out;
  for (uint32_t i = 0; i < dimension; ++i) {
    if (kind != Statistic::Kind::xx)
      out.push_back({kind, i, i});
    else
      for (uint32_t j = i + 1; j < dimension; ++j) out.push_back({kind, i, j});
  }
  return out;
}

}  // namespace selfnorm
