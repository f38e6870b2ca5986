// Inputs of a model with an encoder as states h, a block at a time: what everything that works on dense
// features (evaluation, audit, normalisation) reads.
#pragma once

#include <memory>

#include "data/corpus/token_corpus.h"
#include "data/example_source.h"
#include "model/encoder.h"

namespace selfnorm {

// The contexts of the examples listed, one row each; replaces `out`.
void gather_contexts(const TokenCorpus& corpus, std::span<const uint64_t> examples, uint32_t positions,
                     TokenRows& out);

// h of every position of a corpus, with the word there as target. Keeps a reference to the encoder.
std::unique_ptr<ExampleSource> corpus_states(const Encoder& encoder, TokenCorpus corpus);

// h of every example of a source of sparse rows. Keeps a reference to the encoder.
std::unique_ptr<ExampleSource> bag_states(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs);

}  // namespace selfnorm
