// Which classes are taken for which: counts of a classifier's best outputs by true class.
//   precision_k = correct_k / predicted_k,  recall_k = correct_k / inputs_k
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace selfnorm {

struct ClassCounts {
  uint64_t inputs = 0, predicted = 0, correct = 0;
};

struct ConfusedPair {
  uint32_t truth = 0, predicted = 0;
  uint64_t count = 0;
};

struct Confusion {
  std::vector<ClassCounts> classes = {};
  std::vector<ConfusedPair> pairs = {};  // the most frequent first, then by class
};

class ConfusionCount {
 public:
  void add(uint32_t truth, uint64_t best) {
    const auto predicted = static_cast<uint32_t>(best);
    if (const size_t size = std::max(truth, predicted) + size_t{1}; counts_.size() < size)
      counts_.resize(size);
    ++counts_[truth].inputs;
    ++counts_[predicted].predicted;
    if (truth == predicted)
      ++counts_[truth].correct;
    else
      ++wrong_[uint64_t{truth} << 32 | predicted];
  }
  Confusion taken(size_t most_pairs) {
    Confusion out{std::move(counts_), {}};
    for (const auto& [key, count] : wrong_)
      out.pairs.push_back({static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), count});
    std::sort(out.pairs.begin(), out.pairs.end(), [](const ConfusedPair& a, const ConfusedPair& b) {
      if (a.count != b.count) return a.count > b.count;
      return a.truth != b.truth ? a.truth < b.truth : a.predicted < b.predicted;
    });
    out.pairs.resize(std::min(most_pairs, out.pairs.size()));
    return out;
  }

 private:
  std::vector<ClassCounts> counts_;
  std::unordered_map<uint64_t, uint64_t> wrong_;
};

}  // namespace selfnorm
