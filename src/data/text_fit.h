// A TextEncoder from the counts of a whole corpus.
#pragma once

#include "selfnorm/data/dataset.h"
#include "selfnorm/data/string_index.h"
#include "selfnorm/data/text_encoder.h"

namespace selfnorm {

// Rows are texts, columns the numbers of `grams` (or hash buckets), values counts. Chooses the vocabulary
// (bytewise order), renumbers and weighs the columns in place.
TextEncoder fit_text(const TextOptions& options, const StringIndex& grams, SparseMatrix& counts);

}  // namespace selfnorm
