// Trains a regressor from a frame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "engine/engine.h"
#include "family/regressor/train/regressor_options.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

struct RegressorResult : RunResult {
  Regressor model;                  // complete except audit_json; interrupted: none
  std::optional<double> valid_nll;  // the best check, in the units of the data, mean of the members
};

// Rows of `frame` by number. Statistics come from train_rows alone. One member is checked on valid_rows;
// empty: no checks, the last average is kept. Member i of an ensemble is checked on the i-th of ten (or as
// many as there are members) parts of train_rows, which it is not trained on, and valid_rows are not used.
RegressorResult train_regressor(const Frame& frame, const std::vector<std::string>& targets,
                                std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                const RegressorOptions& options, const CheckpointOptions& checkpoint,
                                TrainObserver& observer);

}  // namespace selfnorm
