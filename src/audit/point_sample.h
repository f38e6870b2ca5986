// Points of a stream in bounded memory, spread evenly over it: all of the first kMost, then those whose
// number, counted from 0, is a multiple of 2, 4, 8, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace selfnorm {

template <class T>
class PointSample {
 public:
  static constexpr uint64_t kMost = uint64_t{1} << 16;

  // Whether the next point would be kept; one that is not need not be made: skip() counts it.
  bool takes_next() const { return count_ % (points_.size() < kMost ? stride_ : 2 * stride_) == 0; }
  void skip() { ++count_; }

  void add(T point) {
    if (takes_next()) {
      if (points_.size() == kMost) thin();
      points_.push_back(std::move(point));
    }
    ++count_;
  }

  uint64_t count() const { return count_; }
  uint64_t stride() const { return stride_; }  // kept are 0, stride, 2 stride, ...
  const std::vector<T>& points() const { return points_; }

 private:
  void thin() {
    for (size_t i = 1; i < kMost / 2; ++i) points_[i] = std::move(points_[2 * i]);
    points_.erase(points_.begin() + kMost / 2, points_.end());
    stride_ *= 2;
  }

  std::vector<T> points_;
  uint64_t count_ = 0, stride_ = 1;
};

}  // namespace selfnorm
