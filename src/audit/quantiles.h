// Order statistics of a stream in bounded memory: exact up to 2^20 values; beyond that values are counted in
// 2^20 buckets of relative width 2^-11 (sign, exponent and 11 bits of a float), and an order statistic is its
// bucket's edge away from zero. So quantiles never look closer to zero than they are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace selfnorm {

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

}  // namespace selfnorm
