#include "audit/stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr int kDropped = 12;  // bits of a float below the bucket's
constexpr uint32_t kHalf = uint32_t{1} << (31 - kDropped);

// Buckets in increasing order of value: negative floats first, largest magnitude first.
uint32_t bucket_of(double value) {
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(std::clamp(value, -largest, largest)));
  const uint32_t magnitude = (bits & 0x7FFFFFFFu) >> kDropped;
  return bits >> 31 ? kHalf - 1 - magnitude : kHalf + magnitude;
}

// The edge away from zero; 0 for the bucket of the smallest magnitudes.
double edge_of(uint32_t bucket) {
  const bool negative = bucket < kHalf;
  const uint32_t magnitude = negative ? kHalf - 1 - bucket : bucket - kHalf;
  if (magnitude == 0) return 0;
  const uint32_t bits = std::min((magnitude + 1) << kDropped, 0x7F800000u - 1);
  const double edge = static_cast<double>(std::bit_cast<float>(bits));
  return negative ? -edge : edge;
}

}  // namespace

void Quantiles::add(double value) {
  SELFNORM_CHECK(std::isfinite(value));
  ++count_;
  if (!buckets_.empty()) {
    ++buckets_[bucket_of(value)];
    return;
  }
  values_.push_back(value);
  is_sorted_ = false;
  if (values_.size() <= kExact) return;
  buckets_.resize(2 * size_t{kHalf});
  for (const double v : values_) ++buckets_[bucket_of(v)];
  values_ = {};
}

void Quantiles::sort() const {
  if (!is_sorted_) std::sort(values_.begin(), values_.end());
  is_sorted_ = true;
}

void Quantiles::for_each(const std::function<void(double, uint64_t)>& visit) const {
  sort();
  for (const double v : values_) visit(v, 1);
  for (uint32_t b = 0; b < buckets_.size(); ++b)
    if (buckets_[b] > 0) visit(edge_of(b), buckets_[b]);
}

double Quantiles::order_statistic(uint64_t i) const {
  SELFNORM_CHECK(i < count_);
  sort();
  if (is_exact()) return values_[i];
  uint32_t b = 0;
  for (uint64_t before = 0; before + buckets_[b] <= i; ++b) before += buckets_[b];
  return edge_of(b);
}

double Quantiles::quantile(double q) const {
  const double place = q * static_cast<double>(count_ - 1);
  const auto below = static_cast<uint64_t>(place);
  const double low = order_statistic(below), high = order_statistic(std::min(below + 1, count_ - 1));
  return low + (place - std::floor(place)) * (high - low);
}

}  // namespace selfnorm
