// nce, noise-contrastive estimation (Gutmann & Hyvarinen 2010; theory.md 3): tell the target from k noise
// classes. With D(y) = s_y - b - log(k q(y)) and sigma the logistic function, maximise
//     log sigma(D(y)) + sum_j log sigma(-D(y_j)).
//     d loss/ds = -sigma(-D(y)),   d/ds_j = sigma(D(y_j)),   d/db = sigma(-D(y)) - sum_j sigma(D(y_j)).
// At the optimum exp(s - b) is the distribution of the data itself, normalised, for any k and q > 0. b = 0
// leaves it to the scores; finite for all finite scores.
#pragma once

namespace selfnorm {

struct ObjectiveEntry;

// In the registry.
ObjectiveEntry nce_entry();

}  // namespace selfnorm
