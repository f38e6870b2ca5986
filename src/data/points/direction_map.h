// What energies and mixtures see of points with angles and of mixed tables: a real coordinate is itself, an
// angle (cos x, sin x), a level the indicators of the levels above 0.
// A point of the sphere, kept as (longitude l, z = sin latitude), whose surface element is dl dz, is the unit
// vector
//     u = (r cos l, r sin l, z),   r = sqrt(1 - z^2),   dr/dz = -z / r,   d2r/dz2 = -1 / r^3.
#pragma once

#include <cstdint>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

class DirectionMap {
 public:
  static DirectionMap sphere();
  static DirectionMap angles(std::vector<bool> is_angle);
  // levels: of every coordinate, 0: it is real.
  static DirectionMap mixed(std::vector<bool> is_angle, std::vector<uint32_t> levels);
  // That of a support with coordinates that wrap, or mixed; a box over angle and [-1, 1] is the sphere.
  static DirectionMap of(const Support& support);

  bool is_sphere() const { return is_sphere_; }
  bool is_angle(size_t j) const { return is_angle_[j]; }
  uint32_t levels(size_t j) const { return levels_[j]; }  // 0: real
  const std::vector<uint32_t>& levels() const { return levels_; }
  uint32_t dimension() const { return static_cast<uint32_t>(is_angle_.size()); }
  uint32_t features() const { return features_; }
  Support support() const;

  void apply(const float* x, double* out) const;
  std::vector<float> apply(const Points& x) const;  // of all rows
  // Without levels: the first two derivatives of the features along v; `second` may be null.
  void along(const float* x, const float* v, double* first, double* second) const;
  // Without levels: dx <- J' g for g by the features.
  void pull_back(const float* x, const double* g, double* dx) const;

 private:
  std::vector<bool> is_angle_;
  std::vector<uint32_t> levels_;
  bool is_sphere_ = false;
  uint32_t features_ = 0;
};

}  // namespace selfnorm
