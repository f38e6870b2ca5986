// The training of a density in words: what its model records of it, and what tells it from other runs.
// Nothing that depends on the clock or the machine enters.
#pragma once

#include <string>

#include "selfnorm/data/points/point_source.h"
#include "selfnorm/train/density_options.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

// Optimisers are named where they are not Adam.
std::string density_objective_json(const DensityOptions& options);
std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last);
// A hash of everything the bits of the result depend on.
std::string density_fingerprint(const PointSource& data, const DensityOptions& options);

}  // namespace selfnorm
