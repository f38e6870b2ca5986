// log Z by bridge sampling (Meng & Wong 1996) between a density q and the model, from n2 draws of q and n1 of
// the model by Markov chains (HMC, or Gibbs for levels) that start at resampled draws of q. With l = s - log
// q and shares s1 = n1 / (n1 + n2), s2 = n2 / (n1 + n2), the fixed point of
//     Z = mean_q[ e^l / (s1 e^l / Z + s2) ] / mean_p[ 1 / (s1 e^l / Z + s2) ].
// n1 counts effective draws. Its error is that of the logarithms of both means (Fruehwirth-Schnatter 2004);
// the interval is of 95%. Where p reaches far beyond q the chains say what the draws of q do not.
#pragma once

#include "normalizer/log_z_estimate.h"
#include "proposal/density/density.h"
#include "sampler/annealing_path.h"

namespace selfnorm {

struct BridgeOptions {
  uint64_t draws = 20'000;  // of q; >= 2
  uint64_t chains = 64;     // >= 1
  uint64_t each = 100;      // draws of a chain; >= 4
};

// Throws Error for counts, and as importance_log_z does. `effective` is the smaller of the draws of q that
// are effective under the bridge and those of the chains; `tail` is the worst R-hat less 1.
LogZEstimate bridge_log_z(const Energy& energy, const Density& proposal, const BridgeOptions& options,
                          uint64_t seed);

// The fixed point, and the standard error of its logarithm, for log weights l of draws of q and of the model.
struct Bridge {
  double log_z = 0, error = 0;
};
Bridge bridge_of(std::span<const double> of_proposal, std::span<const double> of_model,
                 double effective_model);

}  // namespace selfnorm
