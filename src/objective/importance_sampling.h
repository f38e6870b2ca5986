// is: the log-likelihood with log Z by importance sampling (Bengio & Senecal 2003; theory.md 3): maximise
//     s_y - log Z_hat,   Z_hat and the shares as in candidate.h.
//     d loss/ds = share_y - 1,   d/ds_j = share_j,   d/db = 0.
// By Jensen E log Z_hat <= log Z: the likelihood is over-estimated, less with more samples; where it is not
// known which samples hit the target (share_y = 0) a target that is never drawn grows without bound. A
// constant added to all scores cancels, so log Z(x) is left free. Finite for all finite scores.
#pragma once

namespace selfnorm {

struct ObjectiveEntry;

// In the registry.
ObjectiveEntry importance_sampling_entry();

}  // namespace selfnorm
