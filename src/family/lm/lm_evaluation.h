// How well a language model predicts a corpus and how well it is normalised, every word by exact enumeration
// of the vocabulary (a hierarchical model: by its path, which is exact).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "audit/evaluation.h"
#include "data/corpus/token_corpus.h"
#include "data/example_source.h"
#include "model/encoder.h"
#include "model/model_file.h"

namespace selfnorm {

// Means over the tokens, of which </s> is one a sentence. Perplexity is exp of an NLL.
struct LanguageEvaluation {
  uint64_t tokens = 0;     // evaluated
  uint64_t of_tokens = 0;  // in the corpus
  uint64_t unknown = 0;    // of `tokens`, those that are <unk>
  uint64_t words = 0;      // K
  double nll_exact = 0;    // mean of A - s_w
  double nll_raw = 0;      // mean of c - s_w: what a user of raw scores sees
  double nll_known = 0;    // exact, over the tokens that are not <unk>; 0 when there are none
  LogZStatistics log_z;    // of A - c
  std::optional<AmortisedEvaluation> amortised;
};

struct LanguageEvaluationOptions {
  uint64_t limit = 0;  // evaluate that many tokens, chosen at random by `seed`; 0: all
  uint64_t seed = 0;
  int threads = 0;
};

// progress(tokens done) after each block. Throws Error: a model of another corpus, an infinite log Z.
LanguageEvaluation evaluate_language(const ModelFile& model, const TokenCorpus& corpus,
                                     const LanguageEvaluationOptions& options = {},
                                     const std::function<void(uint64_t)>& progress = {});

// States for the ladder of a language model: those of positions chosen at random, enough to fit and certify
// it.
std::unique_ptr<ExampleSource> ladder_states(const Encoder& encoder, const TokenCorpus& corpus,
                                             uint64_t seed);

}  // namespace selfnorm
