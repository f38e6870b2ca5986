#include "data/points/direction_map.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kSmallestRadius = 1e-4;  // of a circle of latitude, in derivatives

struct SpherePlace {
  double r, cosine, sine, z;
};
SpherePlace sphere_place(const float* x) {
  const double z = std::clamp(static_cast<double>(x[1]), -1.0, 1.0), l = x[0];
  return {std::sqrt(1 - z * z), std::cos(l), std::sin(l), z};
}

}  // namespace

DirectionMap DirectionMap::sphere() {
  DirectionMap map;
  map.is_angle_ = {true, false};
  map.levels_ = {0, 0};
  map.is_sphere_ = true;
  map.features_ = 3;
  return map;
}

DirectionMap DirectionMap::angles(std::vector<bool> is_angle) {
  std::vector<uint32_t> levels(is_angle.size());
  return mixed(std::move(is_angle), std::move(levels));
}

DirectionMap DirectionMap::mixed(std::vector<bool> is_angle, std::vector<uint32_t> levels) {
  SELFNORM_CHECK(is_angle.size() == levels.size());
  DirectionMap map;
  for (size_t j = 0; j < levels.size(); ++j)
    map.features_ += levels[j] > 0 ? levels[j] - 1 : is_angle[j] ? 2 : 1;
  map.is_angle_ = std::move(is_angle);
  map.levels_ = std::move(levels);
  return map;
}

DirectionMap DirectionMap::of(const Support& support) {
  SELFNORM_CHECK(!support.wraps.empty());
  if (support.is_mixed()) return mixed(support.wraps, support.levels);
  const bool is_sphere = support.wraps.size() == 2 && support.wraps[0] && !support.wraps[1] &&
                         support.lower[1] == -1 && support.upper[1] == 1;
  return is_sphere ? sphere() : angles(support.wraps);
}

Support DirectionMap::support() const {
  if (std::ranges::any_of(levels_, [](uint32_t n) { return n > 0; }))
    return Support::mixed(levels_, is_angle_);
  Support support = Support::angles(is_angle_);
  if (is_sphere_) {
    support.lower[1] = -1;
    support.upper[1] = 1;
  }
  return support;
}

void DirectionMap::apply(const float* x, double* out) const {
  if (is_sphere_) {
    const SpherePlace p = sphere_place(x);
    out[0] = p.r * p.cosine;
    out[1] = p.r * p.sine;
    out[2] = p.z;
    return;
  }
  for (size_t j = 0; j < is_angle_.size(); ++j) {
    const double value = x[j];
    if (levels_[j] > 0) {
      for (uint32_t l = 1; l < levels_[j]; ++l) *out++ = x[j] == static_cast<float>(l) ? 1 : 0;
      continue;
    }
    *out++ = is_angle_[j] ? std::cos(value) : value;
    if (is_angle_[j]) *out++ = std::sin(value);
  }
}

std::vector<float> DirectionMap::apply(const Points& x) const {
  std::vector<float> out(x.rows * features_);
  std::vector<double> row(features_);
  for (uint64_t i = 0; i < x.rows; ++i) {
    apply(x.row(i).data(), row.data());
    std::transform(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(i * features_),
                   [](double v) { return static_cast<float>(v); });
  }
  return out;
}

void DirectionMap::along(const float* x, const float* v, double* first, double* second) const {
  if (is_sphere_) {
    const SpherePlace p = sphere_place(x);
    const double r = std::max(p.r, kSmallestRadius), a = v[0], b = v[1];
    const double dr = -p.z / r * b, ddr = -b * b / (r * r * r);
    first[0] = dr * p.cosine - p.r * p.sine * a;
    first[1] = dr * p.sine + p.r * p.cosine * a;
    first[2] = b;
    if (second == nullptr) return;
    second[0] = ddr * p.cosine - 2 * dr * p.sine * a - p.r * p.cosine * a * a;
    second[1] = ddr * p.sine + 2 * dr * p.cosine * a - p.r * p.sine * a * a;
    second[2] = 0;
    return;
  }
  for (size_t j = 0, f = 0; j < is_angle_.size(); ++j) {
    const double value = x[j], step = v[j];
    if (!is_angle_[j]) {
      first[f] = step;
      if (second != nullptr) second[f] = 0;
      ++f;
      continue;
    }
    const double cosine = std::cos(value), sine = std::sin(value);
    first[f] = -sine * step;
    first[f + 1] = cosine * step;
    if (second != nullptr) {
      second[f] = -cosine * step * step;
      second[f + 1] = -sine * step * step;
    }
    f += 2;
  }
}

void DirectionMap::pull_back(const float* x, const double* g, double* dx) const {
  if (is_sphere_) {
    const SpherePlace p = sphere_place(x);
    const double r = std::max(p.r, kSmallestRadius);
    dx[0] = p.r * (p.cosine * g[1] - p.sine * g[0]);
    dx[1] = g[2] - p.z / r * (p.cosine * g[0] + p.sine * g[1]);
    return;
  }
  for (size_t j = 0, f = 0; j < is_angle_.size(); ++j) {
    const double value = x[j];
    dx[j] = is_angle_[j] ? std::cos(value) * g[f + 1] - std::sin(value) * g[f] : g[f];
    f += is_angle_[j] ? 2 : 1;
  }
}

}  // namespace selfnorm
