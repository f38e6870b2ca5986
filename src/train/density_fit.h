// Objective "fit": the proposal itself is the density, exp(0 + log q) with b = 0.
#pragma once

#include "selfnorm/train/density_trainer.h"

namespace selfnorm {

DensityResult fit_proposal_alone(const PointSource& data, std::span<const uint64_t> train_rows,
                                 const DensityOptions& options, TrainObserver& observer);

}  // namespace selfnorm
