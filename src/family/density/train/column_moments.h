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
  std::vector<bool> whole;  // every value is 0, 1, 2, ...
  uint64_t rows = 0;

  void add(std::span<const float> row);
  double deviation(size_t j) const;
  bool is_whole() const;  // all columns
  bool is_binary(size_t j) const { return whole[j] && lower[j] == 0 && upper[j] == 1; }
};

// `levels`: columns with levels, which are none of these functions' business; empty: no column has.

// A column without spread has no density: any narrower one is better. Nor has one whose spread 32-bit floats,
// which points are, do not resolve. Throws Error naming the column, by its name or number from 0.
void require_spread(const ColumnReading& moments, const std::vector<std::string>& names,
                    const std::vector<uint32_t>& levels = {});

// One value that is most of a column's variance; whole numbers taken for real ones.
std::vector<std::string> column_warnings(const ColumnReading& moments, const std::vector<std::string>& names,
                                         const std::vector<uint32_t>& levels = {});

}  // namespace selfnorm
