// The two tasks of theory.md 4 as frames of x and y.
#pragma once

#include <string>
#include <vector>

#include "data/table/frame.h"
#include "experiments/experiment.h"
#include "experiments/regression/grid.h"

namespace selfnorm {

struct TaskData {
  std::string name;
  Frame frame = {};  // no columns: the files are not there
  std::vector<uint64_t> train = {}, valid = {},
                        test = {};  // without valid: a tenth of train, another for every seed
  double deviation = 1;             // of y in train
  LineGrid x, y;                    // what the model is measured and drawn on

  bool is_there() const { return !frame.columns.empty(); }
};

// ebm-1d/dataset1_train.csv; the test rows are drawn from the true density.
TaskData read_first_task(const ExperimentOptions& options);
// ebm-1d/dataset2_train.csv, _val.csv and _test.csv. Throws DataError for files without x and y.
TaskData read_second_task(const ExperimentOptions& options);

}  // namespace selfnorm
