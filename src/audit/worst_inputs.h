// The inputs with the largest errors of a stream: a heap of at most `most`, the smallest |e| at its front. T
// has `example` and `error`; of equal sizes the earlier example is the worse.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace selfnorm {

struct WorstInput {
  uint64_t example = 0;  // in the data, from 0
  double error = 0;      // e(x)
};

template <class T>
class WorstInputs {
 public:
  explicit WorstInputs(size_t most) : most_(most) {}

  // Whether this input is among the worst so far; one that is not need not be made.
  bool takes(const WorstInput& input) const {
    return heap_.size() < most_ || (most_ > 0 && ahead(input, heap_.front()));
  }

  void add(T input) {
    if (!takes(input)) return;
    const bool is_full = heap_.size() == most_;
    heap_.push_back(std::move(input));
    std::push_heap(heap_.begin(), heap_.end(), ahead);
    if (!is_full) return;
    std::pop_heap(heap_.begin(), heap_.end(), ahead);
    heap_.pop_back();
  }

  // The worst first; the list is empty afterwards.
  std::vector<T> taken() {
    std::sort_heap(heap_.begin(), heap_.end(), ahead);
    return std::exchange(heap_, {});
  }

 private:
  static bool ahead(const WorstInput& a, const WorstInput& b) {
    return std::abs(a.error) != std::abs(b.error) ? std::abs(a.error) > std::abs(b.error)
                                                  : a.example < b.example;
  }

  size_t most_;
  std::vector<T> heap_;
};

}  // namespace selfnorm
