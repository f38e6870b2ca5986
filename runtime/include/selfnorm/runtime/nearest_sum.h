// Which clusters a rung of kind nearest sums exactly (ladder_layout.h), without allocation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/ladder_layout.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::runtime {

// In units of exp(most): the exact sum, the approximate sum of what is left, and the doubt of that, sum
// u_j^2.
struct NearestSum {
  double most = 0, near = 0, left = 0, rest = 0;
  double square = 0;  // of x
  uint64_t cost = 0;  // classes

  double level() const { return most + std::log(near + left); }
  bool has_tail() const { return left > kNoTail * (near + left); }
  void extras(double (&f)[kTailExtras]) const {
    f[0] = log_ratio(left, near);
    f[1] = level();
    f[2] = log_ratio(std::sqrt(rest), near + left);
    f[3] = std::min(square, kMostExtra);
  }
  // a(x), given t(x).
  double log_z(double t) const {
    return most + std::log(near + left * std::exp(std::clamp(t, -kTailBound, kTailBound)));
  }

  static double log_ratio(double a, double b) {
    return a <= 0 ? -kMostExtra : b <= 0 ? kMostExtra : std::clamp(std::log(a / b), -kMostExtra, kMostExtra);
  }
};

// A cluster that may have to be summed.
struct DoubtfulCluster {
  float worth;  // doubt by class
  uint32_t cluster;

  bool operator<(const DoubtfulCluster& other) const {  // the worthiest is the greatest
    return worth != other.worth ? worth < other.worth : cluster > other.cluster;
  }
};
inline constexpr size_t kMostDoubtful = 1024;

// Clusters whose doubts together are within the bound need not be summed, so none is that has less than its
// part of it.
inline size_t doubtful_clusters(std::span<const float> doubt, std::span<const uint32_t> begin, double bound,
                                DoubtfulCluster* out) {
  for (auto least = static_cast<float>(bound / static_cast<double>(doubt.size()));;
       least = std::max(4 * least, 1e-36f)) {
    size_t n = 0;
    for (size_t j = 0; j < doubt.size() && n <= kMostDoubtful; ++j) {
      if (!(doubt[j] > least)) continue;
      if (n < kMostDoubtful)
        out[n] = {doubt[j] / static_cast<float>(begin[j + 1] - begin[j]), static_cast<uint32_t>(j)};
      ++n;
    }
    if (n <= kMostDoubtful) return n;
  }
}

// share and doubt are those of Kernels::cluster_shares, `all` its result, `square` that of x;
// exact(candidates, &sum) gives the LogSumExp of some clusters together, or false, which ends it. As many are
// asked for at once as the shares say are needed.
template <class Exact>
bool nearest_sum(const ClusterShares& all, double square, std::span<const float> share, const float* doubt,
                 std::span<const uint32_t> begin, double stop, const Exact& exact, NearestSum* out) {
  DoubtfulCluster candidate[kMostDoubtful];
  const size_t n =
      doubtful_clusters({doubt, share.size()}, begin, stop * stop * all.total * all.total, candidate);
  DoubtfulCluster* last = candidate + n;  // a heap; behind it those that were taken, the latest first
  std::make_heap(candidate, last);
  *out = {static_cast<double>(all.most), 0, all.total, all.doubt, square, 0};
  while (last > candidate) {
    const double bound = stop * stop * (out->near + out->left) * (out->near + out->left);
    const auto is_doubted = [&] {
      return stop == 0 || out->rest > bound;
    };  // 0: all, however doubts are rounded
    if (!is_doubted()) break;
    DoubtfulCluster* const end = last;
    while (last > candidate && is_doubted()) {
      std::pop_heap(candidate, last--);
      const uint32_t j = last->cluster;
      out->left = std::max(0.0, out->left - static_cast<double>(share[j]));
      out->rest = std::max(0.0, out->rest - static_cast<double>(doubt[j]));
      out->cost += begin[j + 1] - begin[j];
    }
    LogSumExp sum;
    if (!exact(std::span<const DoubtfulCluster>(last, end), &sum)) return false;
    out->near += sum.sum * std::exp(sum.max - out->most);
  }
  return true;
}

}  // namespace selfnorm::runtime
