// One training of a regressor, and what it is worth on rows it has not seen.
#pragma once

#include "data/table/frame.h"
#include "experiments/cells.h"
#include "family/regressor/train/regressor_options.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

struct RegressionTrial {
  const Frame* frame = nullptr;  // has to outlive it
  std::string target;
  std::vector<uint64_t> train, valid, test;  // rows of it; an ensemble without valid takes them from train
  RegressorOptions options;                  // with its seed
};

// Everything the numbers depend on: all options with what 0 means resolved, and a hash of the data.
std::string trial_key(const RegressionTrial& trial);

// nll, nll_error  exact test NLL, A by quadrature, and its standard error over the test rows
// nll_b           with b(x)
// crps, rmse
// in50            share of the targets inside central 50% intervals
// b_rms           rms of b(x) - A(x); of ensembles the error of log p
// quadrature      the largest error of A
// tilted          of the first member alone: 1, or 0 when |A| <= 0.001 on all test rows: there is no tilt, or
//                 the best check was before it began
// seconds         of training, processor time of the calling thread
// all_seconds     with evaluation
// diverged        1 or 0
// What could not be computed is NaN.
struct TrialResult {
  Regressor model;
  EncodedFrame test;  // the inputs of the test rows
  CellValues cell;
};
TrialResult run_trial(const RegressionTrial& trial);

}  // namespace selfnorm
