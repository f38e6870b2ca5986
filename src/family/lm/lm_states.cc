#include "family/lm/lm_states.h"

#include <algorithm>

#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLadderTokens = 20'000, kLadderStates = 0x6c73;  // "ls"

}  // namespace

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
