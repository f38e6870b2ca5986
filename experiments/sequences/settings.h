// Everything that was chosen for docs/sequences.md: the range of alpha, so that the trade-off shows; the rest
// are the defaults of training.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "experiments/sequences/trial.h"

namespace selfnorm {

// Those of docs/sequences.md, the exact one first, changed ones right after the training they share.
std::vector<ChainTrial> chain_trials(const ExperimentOptions& options);
// What they share, in words.
std::vector<std::pair<std::string, std::string>> chain_settings(const Treebank& data,
                                                                const ExperimentOptions& options);

}  // namespace selfnorm
