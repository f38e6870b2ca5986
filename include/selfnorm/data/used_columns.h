// Columns that training can teach something: those that a row of the training data uses. When rows are held
// out of a text after its vocabulary was made, words of theirs alone are not among them; a model must not
// count them as known, since a new text's unknown words are not there either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "selfnorm/data/dataset.h"
#include "selfnorm/data/text_encoder.h"

namespace selfnorm {

// Rising.
std::vector<uint32_t> used_columns(const SparseMatrix& x);

// Renumbers these columns (rising) 0, 1, ...; the others' entries and names are removed.
void keep_columns(std::span<const uint32_t> columns, Dataset& data);

// The encoder with these words of its vocabulary alone.
TextEncoder with_words(const TextEncoder& encoder, std::span<const uint32_t> columns);

}  // namespace selfnorm
