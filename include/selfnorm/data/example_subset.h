// Some of the examples of a source, in a given order.
#pragma once

#include <vector>

#include "selfnorm/data/example_source.h"

namespace selfnorm {

class ExampleSubset final : public ExampleSource {
 public:
  // Keeps a reference to `whole`.
  ExampleSubset(const ExampleSource& whole, std::vector<uint64_t> examples);

  uint64_t examples() const override { return examples_.size(); }
  uint32_t columns() const override { return whole_.columns(); }
  bool has_targets() const override { return whole_.has_targets(); }
  bool is_joint() const override { return whole_.is_joint(); }
  uint64_t number(uint64_t example) const override { return whole_.number(examples_[example]); }
  Dataset block(uint64_t begin, uint64_t end) const override;
  Dataset gather(std::span<const uint64_t> examples) const override;

 private:
  const ExampleSource& whole_;
  std::vector<uint64_t> examples_;
};

// A random `fraction` of the examples (at least 1, at most half) and the others, each in order of the source:
// (kept, held out). Needs at least two examples.
std::pair<std::vector<uint64_t>, std::vector<uint64_t>> random_split(uint64_t examples, double fraction,
                                                                     uint64_t seed);

}  // namespace selfnorm
