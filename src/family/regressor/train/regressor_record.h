// The training of a regressor in words: what its model records of it, and what tells it from other runs.
// Nothing that depends on the clock or the machine enters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "family/regressor/train/regressor_options.h"

namespace selfnorm {

std::string regressor_objective_json(const RegressorOptions& options);
std::string regressor_training_json(const RegressorOptions& options, const std::string& reason, uint64_t rows,
                                    uint64_t steps);
// A hash of everything the bits of the result depend on.
std::string regressor_fingerprint(const Frame& frame, const std::vector<std::string>& targets,
                                  std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                  const RegressorOptions& options);

}  // namespace selfnorm
