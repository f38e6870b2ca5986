// Hierarchical softmax: minus the log-probability of the path to a class (model/huffman.h),
//     loss = sum_j softplus(s_j) - z_j s_j,   z_j = 1 for a right child and 0 for a left one,
//     d loss / d s_j = sigma(s_j) - z_j.
// A decision per node whose probabilities sum to 1 by construction: no normalizer, exact or learned.
#pragma once

#include <cstdint>

namespace selfnorm {

struct ObjectiveEntry;

struct DecisionTerms {
  double likelihood = 0;  // minus the log-probability
  double d_score = 0;
};

// One node of the path.
DecisionTerms decision(double score, uint32_t side);

// In the registry.
ObjectiveEntry hierarchical_entry();

}  // namespace selfnorm
