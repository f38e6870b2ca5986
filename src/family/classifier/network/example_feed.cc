#include "family/classifier/network/example_feed.h"

#include <fmt/format.h>

#include "engine/checkpoint.h"
#include "family/classifier/minibatch.h"
#include "model/encoder.h"

namespace selfnorm {

std::vector<uint64_t> BagFeed::class_counts() const { return selfnorm::class_counts(data_); }
double BagFeed::mean_weight() const { return selfnorm::mean_weight(data_); }

void BagFeed::gather(std::span<const uint64_t> examples, ExampleBatch& out) const {
  out.rows.clear();
  out.target.clear();
  out.weight.clear();
  for (const uint64_t i : examples) {
    append_bag(data_.features.sparse, i, out.rows);
    out.target.push_back(data_.target[i]);
    if (!data_.weight.empty()) out.weight.push_back(data_.weight[i]);
  }
}

std::string BagFeed::fingerprint() const { return selfnorm::fingerprint(data_, ""); }

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
