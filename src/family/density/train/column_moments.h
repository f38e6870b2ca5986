// What the columns of a table of real numbers are, from one reading, and what about them no density can mend.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct ColumnReading {
  explicit ColumnReading(uint32_t columns);

  std::vector<double> mean, square;  // square: the sum of squared distances from the mean
  std::vector<double> lower, upper;
  bool is_whole = true;  // every value is 0, 1, 2, ...
  uint64_t rows = 0;

  void add(std::span<const float> row);
  double deviation(size_t j) const;
};

// A column without spread has no density: any narrower one is better. Nor has one whose spread 32-bit floats,
// which points are, do not resolve. Throws Error naming the column, by its name or number from 0.
void require_spread(const ColumnReading& moments, const std::vector<std::string>& names);

// One value that is most of a column's variance; whole numbers taken for real ones.
std::vector<std::string> column_warnings(const ColumnReading& moments, const std::vector<std::string>& names);

}  // namespace selfnorm
