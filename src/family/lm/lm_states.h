// States of a language model for its ladder.
#pragma once

#include <memory>

#include "data/corpus/token_corpus.h"
#include "data/example_source.h"
#include "model/encoder.h"

namespace selfnorm {

// Those of positions chosen at random: enough to fit and certify a ladder.
std::unique_ptr<ExampleSource> ladder_states(const Encoder& encoder, const TokenCorpus& corpus,
                                             uint64_t seed);

}  // namespace selfnorm
