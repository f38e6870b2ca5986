// One training of a density on points of a known distribution, and what it is worth.
#pragma once

#include "data/toy/toys.h"
#include "experiments/summary.h"
#include "family/density/train/density_options.h"

namespace selfnorm {

struct DensityTrial {
  enum class LogZ {
    quadrature,  // up to 3 dimensions
    importance   // half of the draws from the truth, half from the proposal, weighted by the mixture of both
  };

  std::string toy;
  uint32_t dimension = 0;  // 0: its own
  uint64_t rows = 10'000, test_rows = 20'000;
  DensityOptions options;  // with its seed, which is that of the points too
  LogZ log_z = LogZ::quadrature;
  uint64_t reference_draws = 100'000;  // importance
  bool has_picture = false;
};

// Of this process, all threads together: what a busy machine does not change.
double processor_seconds();

// gap, gap_error   mean of log p_true - log p over the test points, and its standard error
// nll              test NLL
// log_z, log_z_low, log_z_high
// learned          b as trained - log Z; NaN when the objective learns none
// stored           b of the model - log Z
// effective        share of effective samples of the proposal, (sum w)^2 / (n sum w^2)
// trusted          effective draws of the importance estimate of log Z (quadrature: NaN)
// seconds          of training, processor time
// diverged         1 or 0
// NaN where log Z could not be found. Picture: the density over toy_box, shares of its largest value.
// A finished cell, or one that is run now. `work`: as in Trials.
CellValues trial_cell(Trials& trials, const DensityTrial& trial, double work);
// Over the seeds of the experiment; a picture of the first alone.
std::vector<CellValues> over_seeds(Trials& trials, DensityTrial trial, double work, size_t seeds);

constexpr size_t kPictureSide = 96;

// [x low, x high, y low, y high] of a toy of the plane, from its points with that seed.
std::vector<double> toy_box(const std::string& toy, uint64_t seed);

}  // namespace selfnorm
