// Trains an energy and its log Z from points to a DensityModel, with any of objective_names("density").
#pragma once

#include <optional>

#include "selfnorm/data/points/point_source.h"
#include "selfnorm/engine/engine.h"
#include "selfnorm/model/energy/density_file.h"
#include "selfnorm/train/density_options.h"

namespace selfnorm {

struct DensityResult : RunResult {
  DensityModel model;              // complete except audit_json; interrupted: none
  double learned_normalizer = 0;   // b as trained, before calibration
  std::string optimiser = "adam";  // or newton (train/family_training.h); empty: a closed form, no steps
};

// Rows of `data` by number; `valid_rows` may be empty. Statistics (standardisation, proposal) come from
// train_rows alone.
DensityResult train_density(const PointSource& data, std::span<const uint64_t> train_rows,
                            std::span<const uint64_t> valid_rows, const DensityOptions& options,
                            const CheckpointOptions& checkpoint, TrainObserver& observer);

}  // namespace selfnorm
