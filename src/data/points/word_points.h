// Tables some of whose columns have words: a word is a level, 0, 1, ... in the order of its column's words,
// which are sorted, by their value where all are numbers. A missing word, an empty field, is a word as well;
// a missing number is an error.
#pragma once

#include <memory>
#include <vector>

#include "data/input/source.h"
#include "data/points/point_source.h"
#include "data/table/table.h"

namespace selfnorm {

// The rest of the input. `wordy`: the columns of the file that have words (options.known,
// options.categorical), or have them unless all that is there are numbers. Throws DataError naming the line:
// a word among numbers, one that the model does not know, a column of names (all its words differ).
std::unique_ptr<PointSource> read_word_points(Input& input, char separator, const TableLayout& layout,
                                              const std::vector<uint32_t>& wordy, const PointOptions& options,
                                              IntervalRows intervals = {});

}  // namespace selfnorm
