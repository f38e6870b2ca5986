#include "engine/minibatches.h"

#include <algorithm>

#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kOrderStream = 0x6f72646572000000;  // "order"
constexpr uint64_t kPoolStream = 0x706f6f6c00000000;   // "pool"

}  // namespace

void ShuffledOrder::load(uint64_t epoch, uint64_t pool) {
  const auto length = [&](uint64_t chunk) { return std::min(kChunk, examples_ - chunk * kChunk); };
  if (epoch != epoch_) {
    chunk_order_ =
        random_permutation((examples_ + kChunk - 1) / kChunk, RandomStream(seed_, kOrderStream + epoch));
    pool_begin_.clear();
    uint64_t place = 0;
    for (uint64_t c = 0; c < chunk_order_.size(); ++c) {
      if (c % kPool == 0) pool_begin_.push_back(place);
      place += length(chunk_order_[c]);
    }
    pool_begin_.push_back(place);
  }
  order_.clear();
  const uint64_t end = std::min<uint64_t>(chunk_order_.size(), (pool + 1) * kPool);
  for (uint64_t c = pool * kPool; c < end; ++c) {
    const uint64_t first = chunk_order_[c] * kChunk;
    for (uint64_t i = 0; i < length(chunk_order_[c]); ++i) order_.push_back(first + i);
  }
  RandomStream(seed_, kPoolStream + (epoch << 24) + pool).shuffle(order_);
  epoch_ = epoch;
  pool_ = pool;
}

void ShuffledOrder::slice(uint64_t epoch, uint64_t first, uint64_t count, std::vector<uint64_t>& out) {
  out.clear();
  if (epoch != epoch_) load(epoch, 0);
  while (count > 0) {
    const auto after = std::upper_bound(pool_begin_.begin(), pool_begin_.end(), first);
    const auto pool = static_cast<uint64_t>(after - pool_begin_.begin()) - 1;
    if (pool != pool_) load(epoch, pool);
    const uint64_t offset = first - pool_begin_[pool];
    const uint64_t taken = std::min(count, order_.size() - offset);
    const auto from = order_.begin() + static_cast<std::ptrdiff_t>(offset);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(taken));
    first += taken;
    count -= taken;
  }
}

Minibatches::Minibatches(uint64_t examples, uint64_t size, uint64_t seed, Rest rest)
    : examples_(examples),
      size_(std::min(size, examples)),
      per_epoch_((examples + (rest == Rest::is_used ? size_ - 1 : 0)) / size_),
      order_(examples, seed) {}

std::span<const uint64_t> Minibatches::of(uint64_t step) {
  const uint64_t first = step % per_epoch_ * size_;
  order_.slice(step / per_epoch_, first, std::min(size_, examples_ - first), chosen_);
  return chosen_;
}

}  // namespace selfnorm
