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
  std::string choice;             // one line on how the proposal was chosen; empty: the options said which
};

// Rows of `data` by number; `valid_rows` may be empty. Statistics (standardisation, proposal) come from
// train_rows alone; valid_rows choose between proposals and between steps.
DensityResult train_density(const PointSource& data, std::span<const uint64_t> train_rows,
                            std::span<const uint64_t> valid_rows, const DensityOptions& options,
                            const CheckpointOptions& checkpoint, TrainObserver& observer);

// Exponential families by snl without minibatches: the objective is jointly concave in (eta, b) and its
// optimum, the maximum-likelihood estimate and log Z, needs only the means of T over the data.
//     gaussian, exponential, poisson, bernoulli    matched moments (family_estimate.h)
//     at most 2^18 points (ising up to 18 spins)   Newton's method over all points
//     (family/density/exponential/exponential_fit.h) one or two real dimensions, and products of  Newton's
//     method over quadrature nodes single coordinates (von-mises, gamma, any    (exponential_fit.h), which
//     grow until log Z agrees with family without xx)                           its closed form or adaptive
//     quadrature to 1e-6

// Whether these options ask for such a fit: snl with b learned, nothing tilted, no weight decay, a proposal
// that is not learned, an optimiser that is not "adam"; and a family as above.
bool fits_family(const DensityOptions& options, uint32_t dimension);

// Throws Error for an option of steps that was given although they ask for such a fit, which takes none.
void refuse_steps_of_fit(DensityOptions options, uint32_t dimension);

// Nothing, after a warning to the observer, when no nodes agreed. Needs fits_family. Throws Error naming a
// row outside the support.
std::optional<DensityResult> train_family(const PointSource& data, std::span<const uint64_t> train_rows,
                                          std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                          TrainObserver& observer);

}  // namespace selfnorm
