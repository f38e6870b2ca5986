// Where a network starts. Output weights are 0 and the biases give the frequencies of the classes in the
// training data, log h(k) + b_k = log (n_k + 1) / sum_j (n_j + 1): the first scores are log-probabilities,
// and with noise from the same frequencies the importance weights start at 1 (theory.md 3). The nodes of a
// tree start at their log-odds for the same distribution. Embeddings are uniform in +-1/2 (bag: +-1/e),
// hidden weights in +-sqrt(6 / (p + m)) (Glorot & Bengio 2010).
#pragma once

#include <span>

#include "selfnorm/model/model_file.h"
#include "selfnorm/train/network_trainer.h"

namespace selfnorm {

ModelFile starting_network(NetworkPlan plan, const TrainOptions& options, std::span<const uint64_t> counts);

}  // namespace selfnorm
