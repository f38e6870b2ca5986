// Hierarchical softmax: minus the log-probability of the path to a class (model/huffman.h),
//     loss = sum_j softplus(s_j) - z_j s_j,   z_j = 1 for a right child and 0 for a left one,
//     d loss / d s_j = sigma(s_j) - z_j.
// A decision per node whose probabilities sum to 1 by construction: no normalizer, exact or learned.
#pragma once

#include <cstdint>
#include <span>

#include "model/model_file.h"

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

// Probabilities of a hierarchical model (model/huffman.h) given its state h; s_j = w_j . h + c_j of inner
// node j.

// -log p(k|h), in as many dot products as the path of k has nodes.
double path_nll(const ModelFile& model, std::span<const float> state, uint32_t k);

// log p(k|h) of every class, in K - 1 dot products: a node passes its probability on to its two children.
void tree_log_probs(const ModelFile& model, std::span<const float> state, std::span<double> out);

}  // namespace selfnorm
