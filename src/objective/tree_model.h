// Probabilities of a hierarchical model (model/huffman.h) given its state h; s_j = w_j . h + c_j of inner
// node j.
#pragma once

#include <cstdint>
#include <span>

#include "model/model_file.h"

namespace selfnorm {

// -log p(k|h), in as many dot products as the path of k has nodes.
double path_nll(const ModelFile& model, std::span<const float> state, uint32_t k);

// log p(k|h) of every class, in K - 1 dot products: a node passes its probability on to its two children.
void tree_log_probs(const ModelFile& model, std::span<const float> state, std::span<double> out);

}  // namespace selfnorm
