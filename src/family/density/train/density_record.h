// The training of a density in words: what its model records of it, and what tells it from other runs.
// Nothing that depends on the clock or the machine enters.
#pragma once

#include <span>
#include <string>

#include "data/points/point_source.h"
#include "family/density/train/density_options.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// Optimisers are named where they are not Adam.
std::string density_objective_json(const DensityOptions& options);
std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last);
// Of everything the bits of the result depend on (engine/checkpoint.h).
std::string density_fingerprint(const PointSource& data, std::span<const uint64_t> train_rows,
                                std::span<const uint64_t> valid_rows, const DensityOptions& options);

}  // namespace selfnorm
