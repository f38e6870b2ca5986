// Whether sentences fit a chain model: data that did not come from a reader with the model's encoder.
#pragma once

#include "selfnorm/data/sequence/sequences.h"
#include "selfnorm/model/chain/chain_model.h"

namespace selfnorm {

// Throws Error saying what does not fit: no sentences, an empty one, rows that are not one a position,
// attributes or labels beyond those of the model, values that are not finite, and, where labels are required,
// positions without one. `role` names the data, as in "the training data".
void check_sequences(const Sequences& data, const ChainShape& shape, const char* role, bool require_labels);

}  // namespace selfnorm
