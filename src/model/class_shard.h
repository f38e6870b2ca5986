// The classes of a head split over the processes of a job: rows of W are in the memory of one process each.
// Classes are cut into blocks by their number alone, a process has blocks that follow each other, and what is
// summed over classes is summed block by block in their order, so that bits do not depend on how many
// processes there are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "math/process/shared_loop.h"
#include "model/multiclass.h"

namespace selfnorm {

class ClassShard {
 public:
  static constexpr uint32_t kMostBlocks = 64;  // and processes that have classes

  ClassShard() = default;
  // That of this process of the job; everything where it is alone.
  explicit ClassShard(uint32_t classes)
      : classes_(classes),
        width_(classes / kMostBlocks + (classes % kMostBlocks > 0 ? 1 : 0)),
        own_(own_units(blocks())) {}

  bool exists() const { return classes_ > 0; }
  uint32_t classes() const { return classes_; }  // of all processes
  size_t blocks() const { return (size_t{classes_} + width_ - 1) / width_; }
  UnitShare own_blocks() const { return own_; }
  Range block(size_t b) const {
    return {std::min<uint64_t>(classes_, uint64_t{b} * width_),
            std::min<uint64_t>(classes_, (uint64_t{b} + 1) * width_)};
  }
  size_t block_of(uint32_t k) const { return k / width_; }
  // The classes from the first of this block to the last of all blocks of a process.
  Range classes_of(UnitShare share) const { return {block(share.begin).begin, block(share.end).begin}; }
  Range own() const { return classes_of(own_); }
  // The most that a process has.
  size_t most_own() const {
    const Communicator* const all = sharing(blocks());
    return all == nullptr ? classes_ : classes_of(all->share(blocks(), 0)).size();
  }
  bool is_whole() const { return own_.size() == blocks(); }
  bool has(uint32_t k) const { return k >= own().begin && k < own().end; }
  Range own_block(size_t b) const {  // counted from the first own class
    return {block(b).begin - own().begin, block(b).end - own().begin};
  }

  // sum += what the blocks add, in their order: add(b, begin, end) adds what an own block b has to these
  // elements.
  template <class Real, class Add>
  void add_in_order(std::span<Real> sum, size_t grain, const Add& add) const {
    selfnorm::add_in_order(blocks(), sum, grain, [&](size_t begin, size_t end) {
      for (size_t b = own_.begin; b < own_.end; ++b) add(b, begin, end);
    });
  }
  // The sum over blocks, in their order, of numbers that those who have them give: of(b).
  template <class Of>
  double sum(const Of& of) const {
    std::vector<double> own(own_.size());
    parallel_units(own.size(), [&](size_t i) { own[i] = of(own_.begin + i); });
    double total = 0;
    add_in_order(std::span(&total, 1), 1, [&](size_t b, size_t, size_t) { total += own[b - own_.begin]; });
    return total;
  }

 private:
  uint32_t classes_ = 0, width_ = 1;
  UnitShare own_{0, 0};
};

}  // namespace selfnorm
