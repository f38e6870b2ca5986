// Whole numbers as sparse rows phi(x): indicators of the levels above 0 of every column, or the counts that
// are not 0. A binary column is one feature, its own value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"
#include "math/kernels.h"

namespace selfnorm {

class LevelFeatures {
 public:
  LevelFeatures(const Support& support, uint32_t dimension);

  bool is_counts() const { return levels_.empty(); }
  uint32_t columns() const { return static_cast<uint32_t>(begin_.size() - 1); }
  size_t size() const { return begin_.back(); }           // features
  size_t begin(size_t j) const { return begin_[j]; }      // of column j; of the one after the last: size()
  uint32_t levels(size_t j) const { return levels_[j]; }  // levels alone

  // The row's features; false, and nothing, for values outside the support. The memory is the caller's.
  bool sparse(std::span<const float> row, std::vector<uint32_t>& column, std::vector<float>& value) const;
  // The same as numbers, size() of them; the row is inside the support.
  void dense(std::span<const float> row, float* out) const;

 private:
  std::vector<uint32_t> levels_;
  std::vector<size_t> begin_;
};

}  // namespace selfnorm
