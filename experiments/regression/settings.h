// The settings of docs/regression.md: everything that was chosen for it stands here.
#pragma once

#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "family/regressor/train/regressor_options.h"

namespace selfnorm {

// 5 (options.seed - 1) + i
uint64_t regression_seed(const ExperimentOptions& options, size_t i);

// Of task 1 or 2, the same networks, samples and steps for all objectives. `deviation`: that of y, for what
// the literature gives in units of y.
RegressorOptions task_settings(int task, const std::string& objective, double deviation, Extent extent);

// snl | mdn | gaussian (one component) | linear (one component of a linear mean and one scale).
std::vector<std::string> table_models();

struct TableSettings {
  RegressorOptions options;
  double held_out = 0.1;  // share of the training rows for checks; an ensemble chooses its own
};
TableSettings table_settings(const std::string& model, Extent extent);

// What they share, in words: "features 64,64", ...
std::vector<std::pair<std::string, std::string>> described(const RegressorOptions& options);

}  // namespace selfnorm
