// Targets of which an interval is known, [low, high]: censored and interval ones, counts and ordinal levels.
// Their likelihood is the mass of the interval; where both ends are the same number it is the density there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/table/frame.h"

namespace selfnorm {

// number: what a column says is the target. count (0, 1, 2, ...), ordinal (whole numbers): k stands for
// [k - 1/2, k + 1/2]. interval: two columns have the ends; a missing lower end is -inf (left-censored), a
// missing upper one inf (right-censored).
struct TargetColumns {
  std::string name;             // of the target, or of its lower end
  std::string high = {};        // interval: of its upper end
  std::string kind = "number";  // number | interval | count | ordinal
  bool has_ends() const { return kind != "number"; }
};

struct TargetEnds {
  std::vector<double> low, high;

  bool is_number(size_t i) const { return low[i] == high[i]; }
  // Something near it: the middle, or the end that is finite.
  double place(size_t i) const;
};

// Rows in which it is missing, both ends of an interval, rising. Throws DataError when a column is not there.
std::vector<uint64_t> rows_without_ends(const Frame& frame, const TargetColumns& columns);
// Of some rows. Throws DataError naming the line: text, a missing value, ends in the wrong order, numbers
// that are no counts or levels.
TargetEnds target_ends(const Frame& frame, const TargetColumns& columns, std::span<const uint64_t> rows);

}  // namespace selfnorm
