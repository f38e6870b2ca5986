// The order of the examples in an epoch, in memory that does not grow with them: chunks of consecutive
// examples are permuted, and pools of kPool chunks are permuted inside. Up to kChunk * kPool examples (a
// million) that is a uniformly random permutation. It depends on (seed, epoch) alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

class ShuffledOrder {
 public:
  static constexpr uint64_t kChunk = 4096;
  static constexpr uint64_t kPool = 256;

  ShuffledOrder(uint64_t examples, uint64_t seed) : examples_(examples), seed_(seed) {}

  // Places first .. first + count - 1 of the epoch's order, into `out`.
  void slice(uint64_t epoch, uint64_t first, uint64_t count, std::vector<uint64_t>& out);

 private:
  void load(uint64_t epoch, uint64_t pool);

  uint64_t examples_, seed_;
  uint64_t epoch_ = UINT64_MAX, pool_ = UINT64_MAX;  // what is in memory
  std::vector<uint64_t> chunk_order_, order_;
  std::vector<uint64_t> pool_begin_;  // place of the first example of a pool
};

// The examples of every step: minibatches of `size` of them in that order, one epoch after the other.
class Minibatches {
 public:
  // Of the last minibatch of an epoch, when fewer are left.
  enum class Rest { is_used, is_left_out };

  Minibatches(uint64_t examples, uint64_t size, uint64_t seed, Rest rest = Rest::is_used);

  uint64_t size() const { return size_; }            // at most the number of examples
  uint64_t per_epoch() const { return per_epoch_; }  // minibatches
  std::span<const uint64_t> of(uint64_t step);       // until the next call

 private:
  uint64_t examples_, size_, per_epoch_;
  ShuffledOrder order_;
  std::vector<uint64_t> chosen_;
};

}  // namespace selfnorm
