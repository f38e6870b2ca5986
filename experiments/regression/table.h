// Tables with their standard splits, a folder each (Hernandez-Lobato & Adams 2015):
//   data.txt                            numbers between blanks, one row a line
//   index_features.txt, index_target.txt  columns, from 0
//   n_splits.txt, index_train_K.txt, index_test_K.txt   rows, from 0
#pragma once

#include <string>
#include <vector>

#include "data/table/frame.h"

namespace selfnorm {

struct RegressionTable {
  struct Split {
    std::vector<uint64_t> train, test;
  };
  Frame frame;  // columns x0, x1, ... and y
  std::vector<Split> splits;
  // Of all rows: those that repeat an earlier one, and the values y has. Where they repeat, a likelihood on
  // held-out rows can grow without limit.
  uint64_t repeated = 0, distinct_targets = 0;

  size_t features() const { return frame.columns.size() - 1; }
};

// Throws DataError naming file and line, or Error: a file that is not there, something that is no number,
// rows of different lengths, a place that the table does not have, a row both to train and to test on.
RegressionTable read_regression_table(const std::string& folder);

}  // namespace selfnorm
