// Means and standard deviations of coordinates over points that pass by (Welford), for units in which a
// sampler moves, and for where an integral looks.
#pragma once

#include <cmath>
#include <vector>

#include "selfnorm/data/points/points.h"

namespace selfnorm {

class CoordinateScales {
 public:
  explicit CoordinateScales(uint32_t dimension) : mean_(dimension), square_(dimension) {}

  void add(const Points& x) {
    for (uint64_t i = 0; i < x.rows; ++i) {
      ++count_;
      for (uint32_t j = 0; j < x.columns; ++j) {
        const double value = static_cast<double>(x.row(i)[j]), change = value - mean_[j];
        mean_[j] += change / static_cast<double>(count_);
        square_[j] += change * (value - mean_[j]);
      }
    }
  }

  const std::vector<double>& means() const { return mean_; }
  // Never 0: at least 1e-6 of the largest, and 1 when all points are the same.
  std::vector<double> scales() const;

 private:
  uint64_t count_ = 0;
  std::vector<double> mean_, square_;
};

}  // namespace selfnorm
