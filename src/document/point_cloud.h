// Many points in one panel. Up to kMostDrawn are drawn one by one; more are counted on a grid, dark where
// log(1 + count) is large, under the median and the 5% to 95% band of y in bins of x of equal count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "document/figure.h"

namespace selfnorm {

inline constexpr size_t kMostDrawn = 1500;

struct PointCloud {
  std::string name;               // of the points, in the legend
  std::vector<double> x, y;       // finite, at least one; positive on logarithmic axes
  std::vector<uint64_t> example;  // which input a point is
};

struct ShownRange {
  double low = 0, high = 0;

  bool holds(double value) const { return low <= value && value <= high; }
};

// Whether a logarithmic axis shows them better: all are positive, the largest over 30 times the smallest.
bool spans_decades(const std::vector<double>& values);

// [low, high] made wide enough to be an axis where it is a point.
ShownRange widened(ShownRange range, bool logarithmic);

// All of up to kMostDrawn values, with a margin; of more, what lies between the quantiles 0.5% and 99.5%.
ShownRange shown_range(const std::vector<double>& values, bool logarithmic);

// Adds the cloud to a panel whose axes have labels and scales; ranges that are not given become the shown
// ones. Points of a grid that lie beyond its range are counted at the edge, and the axis says how many.
void draw_cloud(const PointCloud& cloud, Panel& panel);

inline constexpr size_t kMostPoints = 2000;

// A line with fewer points that looks the same: of every bucket of consecutive points the lowest, the highest
// and the first interruption stay, and so do the first and the last point of all. As it is with at most
// `most` points, most >= 8; else no more, in order, with errors, ends and labels.
Series thinned(Series series, size_t most = kMostPoints);

}  // namespace selfnorm
