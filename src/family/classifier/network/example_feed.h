// Where a network's minibatches come from: rows of a data set, or positions of a corpus. Examples have
// numbers and are asked for by them, so nothing but the current minibatch need be in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/corpus/token_corpus.h"
#include "model/encoder.h"

namespace selfnorm {

struct ExampleBatch {
  TokenRows rows;
  std::vector<uint32_t> target;
  std::vector<float> weight;  // empty: all 1
};

class ExampleFeed {
 public:
  virtual ~ExampleFeed() = default;

  virtual uint64_t examples() const = 0;
  // How often each class is a target; as many as there are classes.
  virtual std::vector<uint64_t> class_counts() const = 0;
  virtual double mean_weight() const { return 1; }
  // Replaces `out` by the examples listed, in that order.
  virtual void gather(std::span<const uint64_t> examples, ExampleBatch& out) const = 0;
  // Of everything that can be gathered (engine/checkpoint.h).
  virtual std::string fingerprint() const = 0;
};

// Sparse rows with targets as bags. Keeps a reference.
class BagFeed final : public ExampleFeed {
 public:
  explicit BagFeed(const Dataset& data) : data_(data) {}

  uint64_t examples() const override { return data_.examples(); }
  std::vector<uint64_t> class_counts() const override;
  double mean_weight() const override;
  void gather(std::span<const uint64_t> examples, ExampleBatch& out) const override;
  std::string fingerprint() const override;

 private:
  const Dataset& data_;
};

// Positions of a corpus as examples of a language model of order n: the target is the word, the row the n - 1
// words before it.
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
