#include "family/lm/lm_evaluation.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "data/example_source.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/encoder.h"
#include "model/normalizer_network.h"
#include "normalizer/output_stream.h"
#include "objective/hierarchical.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLadderTokens = 20'000, kLadderStates = 0x6c73;  // "ls"

constexpr uint64_t kSampleStream = 0x746f6b656e73;  // "tokens"
constexpr size_t kStatesAtOnce = 64;

struct WordSums {
  double exact = 0, raw = 0, known = 0;
  std::vector<double> log_z, log_z_amortised;  // of A - c, A - c - b
};

void check_model(const ModelFile& model, const TokenCorpus& corpus) {
  if (model.encoder.kind != EncoderKind::Context)
    throw Error("the model is no language model: it has no context encoder");
  if (model.classes != corpus.vocabulary())
    throw_error("the corpus is in {} words, but the model has {}", corpus.vocabulary(), model.classes);
}

// At random, in the order of the corpus.
std::vector<uint64_t> chosen_tokens(uint64_t tokens, const LanguageEvaluationOptions& options) {
  std::vector<uint64_t> chosen = random_permutation(tokens, RandomStream(options.seed, kSampleStream));
  chosen.resize(options.limit);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void add(uint32_t word, double exact, double raw, WordSums& sums) {
  sums.exact += exact;
  sums.raw += raw;
  if (word != WordVocabulary::kUnknown) sums.known += exact;
}

void add_multiclass(const ModelFile& model, const ExampleSource& states, WordSums& sums,
                    const std::function<void(uint64_t)>& progress) {
  OutputStream(model, states)
      .run(
          [&](const OutputBlock& block) {
            std::vector<double> b;
            if (model.normalizer.exists()) b = values_of(model.normalizer, block.data.features);
            for (size_t i = 0; i < block.rows.size(); ++i) {
              const double score = block.rows[i].target_score, log_z = block.rows[i].moments.log_z();
              add(block.data.target[i], -block.rows[i].moments.total.log_share(score),
                  model.log_normalizer - score, sums);
              sums.log_z.push_back(log_z - model.log_normalizer);
              if (!b.empty()) sums.log_z_amortised.push_back(sums.log_z.back() - b[i]);
            }
          },
          progress);
}

// Probabilities that sum to 1 as they are: raw and exact are the same, log Z is 0.
void add_hierarchical(const ModelFile& model, const ExampleSource& states, WordSums& sums,
                      const std::function<void(uint64_t)>& progress) {
  const uint64_t size = block_size(states);
  for (uint64_t first = 0; first < states.examples(); first += size) {
    const Dataset block = states.block(first, std::min(states.examples(), first + size));
    std::vector<double> nll(block.target.size());
    parallel_ranges(nll.size(), kStatesAtOnce, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        nll[i] = path_nll(model, block.features.dense.row(i), block.target[i]);
    });
    for (size_t i = 0; i < nll.size(); ++i) add(block.target[i], nll[i], nll[i], sums);
    sums.log_z.resize(sums.log_z.size() + nll.size());
    if (progress) progress(first + nll.size());
  }
}

}  // namespace

LanguageEvaluation evaluate_language(const ModelFile& model, const TokenCorpus& corpus,
                                     const LanguageEvaluationOptions& options,
                                     const std::function<void(uint64_t)>& progress) {
  const ThreadLimit limit(options.threads);
  check_model(model, corpus);
  LanguageEvaluation out;
  out.of_tokens = corpus.examples();
  out.tokens = out.of_tokens;
  out.unknown = corpus.unknown();
  out.words = model.classes;
  std::unique_ptr<ExampleSource> all = corpus_states(model.encoder, corpus), some;
  if (options.limit > 0 && options.limit < out.of_tokens) {
    std::vector<uint64_t> chosen = chosen_tokens(out.of_tokens, options);
    out.tokens = chosen.size();
    out.unknown = static_cast<uint64_t>(std::count_if(chosen.begin(), chosen.end(), [&](uint64_t i) {
      return corpus.target(i) == WordVocabulary::kUnknown;
    }));
    some = std::make_unique<ExampleSubset>(*all, std::move(chosen));
  }
  WordSums sums;
  const auto add_all = model.family == Family::Hierarchical ? add_hierarchical : add_multiclass;
  add_all(model, some ? *some : *all, sums, progress);
  if (!std::isfinite(sums.exact) || !std::isfinite(sums.raw))
    throw Error("the score of a word is not finite; the weights are too large");
  const double n = static_cast<double>(out.tokens);
  const double known = static_cast<double>(out.tokens - out.unknown);
  out.nll_exact = sums.exact / n;
  out.nll_raw = sums.raw / n;
  out.nll_known = known > 0 ? sums.known / known : 0;
  out.log_z = describe(std::move(sums.log_z));
  if (model.normalizer.exists()) {
    AmortisedEvaluation amortised{.nll = 0, .log_z = describe(std::move(sums.log_z_amortised))};
    amortised.nll = out.nll_exact - amortised.log_z.mean;  // c + b - s = (A - s) - (A - c - b)
    out.amortised = amortised;
  }
  return out;
}

std::unique_ptr<ExampleSource> ladder_states(const Encoder& encoder, const TokenCorpus& corpus,
                                             uint64_t seed) {
  std::vector<uint64_t> chosen = random_permutation(corpus.examples(), RandomStream(seed, kLadderStates));
  if (chosen.size() > kLadderTokens) chosen.resize(kLadderTokens);
  std::sort(chosen.begin(), chosen.end());
  TokenRows rows;
  gather_contexts(corpus, chosen, encoder.positions, rows);
  Dataset states;
  states.features = encode(encoder, rows);
  states.target.assign(chosen.size(), Dataset::kNoTarget);
  return make_example_source(std::move(states));
}

}  // namespace selfnorm
