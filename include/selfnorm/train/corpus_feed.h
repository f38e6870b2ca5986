// Positions of a corpus as examples of a language model of order n: the target is the word, the row the n - 1
// words before it.
#pragma once

#include "selfnorm/data/corpus/token_corpus.h"
#include "selfnorm/train/example_feed.h"

namespace selfnorm {

class CorpusFeed final : public ExampleFeed {
 public:
  // Keeps a reference. `positions` is n - 1.
  CorpusFeed(const TokenCorpus& corpus, uint32_t positions) : corpus_(corpus), positions_(positions) {}

  uint64_t examples() const override { return corpus_.examples(); }
  std::vector<uint64_t> class_counts() const override { return corpus_.counts(); }
  void gather(std::span<const uint64_t> examples, ExampleBatch& out) const override;
  std::string fingerprint() const override;

 private:
  const TokenCorpus& corpus_;
  uint32_t positions_;
};

}  // namespace selfnorm
