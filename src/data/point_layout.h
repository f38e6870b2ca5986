// The columns of a table of numbers without a target.
#pragma once

#include "selfnorm/data/point_source.h"
#include "table_layout.h"

namespace selfnorm {

// Looks ahead in the input, takes nothing. Throws DataError.
TableLayout point_layout(Input& input, char separator, const PointOptions& options);

// Columns of `columns` without those in `drop`, which are zero-based indices. Throws DataError.
std::vector<uint32_t> kept_columns(const std::string& file, uint64_t columns,
                                   const std::vector<std::string>& drop);

// Throws DataError unless the model has as many columns as the file (after those left out).
void check_columns(const std::string& file, uint64_t columns, const PointOptions& options);

}  // namespace selfnorm
