#include "selfnorm/train/corpus_feed.h"

#include <fmt/format.h>

#include "selfnorm/model/encoded_states.h"

namespace selfnorm {

void CorpusFeed::gather(std::span<const uint64_t> examples, ExampleBatch& out) const {
  gather_contexts(corpus_, examples, positions_, out.rows);
  out.target.resize(examples.size());
  for (size_t i = 0; i < examples.size(); ++i) out.target[i] = corpus_.target(examples[i]);
  out.weight.clear();
}

std::string CorpusFeed::fingerprint() const {
  return fmt::format("{} order {}", corpus_.fingerprint(), positions_ + 1);
}

}  // namespace selfnorm
