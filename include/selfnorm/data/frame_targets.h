// The columns of a frame that are to be predicted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/data/frame.h"

namespace selfnorm {

// Rows in which a target is missing, rising. Throws DataError when a column is not there.
std::vector<uint64_t> rows_without_targets(const Frame& frame, const std::vector<std::string>& names);

// Those in which none is.
std::vector<uint64_t> rows_with_targets(const Frame& frame, const std::vector<std::string>& names);

// rows.size() x names.size(), row-major, finite. Throws DataError naming the line: a column that is not there
// or named twice, text, a missing value.
std::vector<double> numeric_targets(const Frame& frame, const std::vector<std::string>& names,
                                    std::span<const uint64_t> rows);

// How far a target is from continuous: 1 distinct value is a constant, and where a share of the rows have the
// same value the likelihood of a density has no upper bound.
struct TargetDistinct {
  uint64_t distinct = 0;
  double most_frequent = 0;  // that value, the smallest of them
  double share = 0;          // of the rows that have it
};

// Of column `column` of n x columns values; n >= 1, all finite.
TargetDistinct target_distinct(std::span<const double> values, size_t columns, size_t column);

}  // namespace selfnorm
