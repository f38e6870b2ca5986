// Data in memory as the sources that audits, normalisation and scores read, a block at a time.
#pragma once

#include <memory>

#include "data/example_source.h"
#include "data/text/text_encoder.h"
#include "selfnorm/classifier.h"

namespace selfnorm {

// How rows have to come. `text` is for texts; `is_sparse`: dense rows become sparse ones.
struct InputShape {
  uint32_t columns = 0;
  const TextEncoder* text = nullptr;
  bool is_sparse = false;
};
// Keeps references to what `x` and `shape` point to, and `targets` (classes of a model, or none). Throws
// Error for texts where there is no encoder, rows where there is one, and another number of columns.
std::unique_ptr<ExampleSource> make_input_source(const Inputs& x, const InputShape& shape,
                                                 std::vector<uint32_t> targets = {});

// Texts with their labels, the words learned; the rows of others as they are. With labels and weights.
struct LearnedInputs {
  Dataset data;
  std::optional<TextEncoder> text;
};
LearnedInputs learn_inputs(const Inputs& x, const Labels& labels, std::span<const float> weights,
                           const TextOptions& options);
// Rows of numbers, `columns` of them, whose labels are all the classes there will be: some may have no row.
Dataset labelled_rows(const Inputs& x, uint32_t columns, const Labels& labels,
                      std::span<const float> weights);

}  // namespace selfnorm
