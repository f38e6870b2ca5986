// Points drawn from a density model, with what tells how good they are.
//   sir       sampling-importance-resampling from the model's proposal (normalizer/sampling/resampling.h)
//   langevin  MALA; real supports
//   hmc       real supports
//   gibbs     levels
//   auto      sir where the pool is worth at least as many draws as are wanted and its weights would do for
//             log Z (100 effective ones, no heavy tail: density_log_z.h); otherwise hmc, gibbs for levels;
//             always sir for counts
// Chains start at points of sir, spread out (resample_spread).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/energy/density_file.h"

namespace selfnorm {

class OptionTable;

std::vector<std::string> sampling_methods();  // auto first

struct DensitySampleOptions {
  std::string method = "auto";
  uint64_t count = 1000;  // points; >= 1
  uint64_t chains = 16;   // langevin, hmc, gibbs; 1..65536
  uint64_t pool = 0;      // sir: draws of the proposal; 0: 20 for every point, at least 20,000
  uint64_t seed = 0;

  void validate() const;
};
OptionTable sample_option_table(DensitySampleOptions& options);

struct DensitySample {
  std::string method;                        // the one used
  std::vector<float> rows;                   // count x d, in the units of the data
  double pool_effective = 0, pool_tail = 0;  // normalizer/sampling/resampling.h
  uint64_t pool = 0;                         // of sir, by itself or as the start of chains
  double acceptance = 0;                     // chains; gibbs: the share of coordinates that changed
  // Chains: of every coordinate; otherwise empty. R-hat is that of all draws; so are the effective ones, but
  // at most as many as there are rows, which are some of the draws.
  std::vector<double> r_hat, effective;
};

DensitySample sample_density_model(const DensityModel& model, const DensitySampleOptions& options);

// What makes `count` points other than draws of the model, and what to do: chains with R-hat above 1.05 or
// fewer effective draws than 100 (or than points), a pool worth fewer draws than points. Empty: nothing that
// shows.
std::string sample_doubt(const DensitySample& sample, uint64_t count);

}  // namespace selfnorm
