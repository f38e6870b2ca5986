// Trains an energy and its log Z from points to a DensityModel, with any of objective_names("density").
#pragma once

#include <optional>

#include "data/points/point_source.h"
#include "engine/engine.h"
#include "family/density/train/density_options.h"
#include "model/energy/density_file.h"

namespace selfnorm {

struct DensityResult : RunResult {
  DensityModel model;             // complete except audit_json; interrupted: none
  double learned_normalizer = 0;  // b as trained, before calibration
};

// Rows of `data` by number; `valid_rows` may be empty. Statistics (standardisation, proposal) come from
// train_rows alone.
DensityResult train_density(const PointSource& data, std::span<const uint64_t> train_rows,
                            std::span<const uint64_t> valid_rows, const DensityOptions& options,
                            const CheckpointOptions& checkpoint, TrainObserver& observer);

}  // namespace selfnorm
