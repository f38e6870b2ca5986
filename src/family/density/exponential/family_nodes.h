// Where the integral of an exponential family over a real support of 1 or 2 dimensions is summed while it is
// fitted: quadrature nodes over the part of the support where data like those seen can matter.
//     no end, or two   x = u          from min - w sd to max + w sd, cut at the ends
//     lower end a      x = a + e^u    from w sd(log) below the smallest, or e^-depth of the mean distance
//     where
//                                     that is less, to max + w sd: a power of x - a is smooth in u
//     upper end b      x = b - e^u    likewise
#pragma once

#include <vector>

#include "normalizer/quadrature/quadrature.h"

namespace selfnorm {

struct FamilyReach {
  double width = 12;  // w
  double depth = 0;
};

// The extent of a column: of x, and of log of the distance from the end of a half line (rows at the end
// itself do not count).
class FamilyAxis {
 public:
  FamilyAxis(double lower, double upper) : lower_(lower), upper_(upper) {}

  void add(double x);
  double mean() const { return x_.mean; }
  double scale() const;  // standard deviation; of a column that does not vary, a part of its size

  struct Segment {
    double lower = 0, upper = 0;
  };
  Segment segment(const FamilyReach& reach) const;  // of u
  bool is_half_line() const;
  double x(double u) const;
  double log_slope(double u) const { return is_half_line() ? u : 0; }  // log |dx / du|

 private:
  struct Extent {
    double count = 0, mean = 0, square = 0, least = 0, most = 0;
    void add(double v);
    double deviation() const;
  };
  double distance(double x) const;

  double lower_, upper_;
  Extent x_, log_;
};

// One axis for every column of the points.
std::vector<FamilyAxis> family_axes(const Support& support, uint32_t dimension);
QuadratureNodes family_nodes(std::span<const FamilyAxis> axes, const FamilyReach& reach, uint32_t cells);

}  // namespace selfnorm
