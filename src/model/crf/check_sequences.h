// Whether sentences fit a CRF model: data that did not come from a reader with the model's encoder.
#pragma once

#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

// Of every position: one of the model, one of the model or of the unseen ones, or either or none.
enum class NeededLabels { known, any, none };

// Throws Error saying what does not fit: no sentences, an empty one, rows that are not one a position,
// attributes beyond those of the model, values that are not finite, labels other than those needed. `role`
// names the data, as in "the training data".
void check_sequences(const Sequences& data, const CrfShape& shape, const char* role, NeededLabels needed);

}  // namespace selfnorm
