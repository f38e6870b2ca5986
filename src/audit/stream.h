// What is kept of a stream of values, in bounded memory: mean and variance, order statistics, points spread
// evenly over it, its worst inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace selfnorm {

// Mean and variance of a stream (Welford 1962): a large mean does not hide a small variance.
struct RunningVariance {
  uint64_t n = 0;
  double mean = 0, square = 0;  // of the values; sum of squared distances from the mean

  void add(double v) {
    ++n;
    const double before = v - mean;
    mean += before / static_cast<double>(n);
    square += before * (v - mean);
  }
  double variance() const { return n == 0 ? 0 : square / static_cast<double>(n); }
  // sqrt(s^2 / n) with the unbiased s^2; 0 for fewer than two values.
  double standard_error() const {
    return n < 2 ? 0 : std::sqrt(square / static_cast<double>(n - 1) / static_cast<double>(n));
  }
};

// Order statistics of a stream in bounded memory: exact up to 2^20 values; beyond that values are counted in
// 2^20 buckets of relative width 2^-11 (sign, exponent and 11 bits of a float), and an order statistic is its
// bucket's edge away from zero. So quantiles never look closer to zero than they are.
class Quantiles {
 public:
  static constexpr uint64_t kExact = uint64_t{1} << 20;

  void add(double value);  // finite
  uint64_t count() const { return count_; }
  bool is_exact() const { return buckets_.empty(); }

  // The i-th smallest, i = 0 .. count()-1. Sorts when needed.
  double order_statistic(uint64_t i) const;
  // Linear interpolation of order statistics at q (count() - 1).
  double quantile(double q) const;
  // visit(value, times) in increasing order.
  void for_each(const std::function<void(double value, uint64_t times)>& visit) const;

 private:
  void sort() const;

  uint64_t count_ = 0;
  mutable bool is_sorted_ = true;
  mutable std::vector<double> values_;
  std::vector<uint64_t> buckets_;
};

// Points of a stream in bounded memory, spread evenly over it: all of the first kMost, then those whose
// number, counted from 0, is a multiple of 2, 4, 8, ...
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

struct WorstInput {
  uint64_t example = 0;  // in the data, from 0
  double error = 0;      // e(x)
};

// The inputs with the largest errors of a stream: a heap of at most `most`, the smallest |e| at its front. T
// has `example` and `error`; of equal sizes the earlier example is the worse.
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
