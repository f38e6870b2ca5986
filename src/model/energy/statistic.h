// A sufficient statistic of a point: a function of one coordinate, or the product of two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm {

// t -> T(x + t v) at t = 0.
struct StatisticJet {
  double value = 0, first = 0, second = 0;
};

struct Statistic {
  enum class Kind { x, x2, x3, x4, abs, log, cos, sin, xx };

  Kind kind = Kind::x;
  uint32_t i = 0, j = 0;  // coordinates; j: of xx only, i < j

  // log is that of max(x, the smallest normal float): finite on x >= 0.
  double value(const float* x) const;
  // First and second derivative along v; those of abs at 0 are 0.
  StatisticJet along(const float* x, const float* v) const;
  // dx += d dT/dx.
  void add_gradient(const float* x, double d, double* dx) const;
};

// x, x2, x3, x4, abs, log, cos, sin, xx
const std::vector<std::string>& statistic_names();
// One statistic for every coordinate (xx: for every pair i < j, ordered by i, then j). Throws Error for a
// name that is none.
std::vector<Statistic> make_statistics(const std::string& name, uint32_t dimension);

}  // namespace selfnorm
