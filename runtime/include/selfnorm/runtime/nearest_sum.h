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

// What Kernels::cluster_shares writes, and what it read.
struct SharedClusters {
  std::span<float> share, doubt;  // of clusters that were summed: 0
  std::span<const float> scatter;
  std::span<const uint32_t> begin;
};

// Below this part of what it was estimated to be, the sum has lost the digits of its smaller terms.
inline constexpr double kLostLevel = 1e-3;

// The largest cluster left, or the sum, as the new unit, in which nothing that matters is too small for a
// float.
inline void rescale(const SharedClusters& all, NearestSum* sum) {
  double unit = sum->near;
  for (const float v : all.share) unit = std::max(unit, static_cast<double>(v));
  if (!(unit > 0)) return;
  sum->most += std::log(unit);
  sum->near /= unit;
  sum->left = sum->rest = 0;
  for (size_t j = 0; j < all.share.size(); ++j) {
    const double share = static_cast<double>(all.share[j]) / unit;
    const double exponent =
        std::min(static_cast<double>(kMostDoubt), sum->square * static_cast<double>(all.scatter[j]));
    const double doubt = share * std::expm1(exponent);
    all.share[j] = static_cast<float>(share);
    all.doubt[j] = static_cast<float>(doubt * doubt);
    sum->left += share;
    sum->rest += doubt * doubt;
  }
}

// `first` is the result of Kernels::cluster_shares, `square` that of x; exact(candidates, &sum) gives the
// LogSumExp of some clusters together, or false, which ends it. As many are asked for at once as the shares
// say are needed. Where clusters turn out to be far smaller than they were estimated, what is left is looked
// at again, in units of what is left.
template <class Exact>
bool nearest_sum(const ClusterShares& first, double square, const SharedClusters& all, double stop,
                 const Exact& exact, NearestSum* out) {
  *out = {static_cast<double>(first.most), 0, first.total, first.doubt, square, 0};
  for (;;) {
    const double level = out->near + out->left;
    const auto bound = [&] { return stop * stop * (out->near + out->left) * (out->near + out->left); };
    DoubtfulCluster candidate[kMostDoubtful];
    DoubtfulCluster* last = candidate + doubtful_clusters(all.doubt, all.begin, bound(), candidate);
    std::make_heap(candidate, last);  // behind it those that were taken, the latest first
    while (last > candidate && out->near + out->left > kLostLevel * level) {
      const double most = bound();
      const auto is_doubted = [&] {
        return stop == 0 || out->rest > most;
      };  // 0: all, however doubts are rounded
      if (!is_doubted()) break;
      DoubtfulCluster* const end = last;
      while (last > candidate && is_doubted()) {
        std::pop_heap(candidate, last--);
        const uint32_t j = last->cluster;
        out->left = std::max(0.0, out->left - static_cast<double>(all.share[j]));
        out->rest = std::max(0.0, out->rest - static_cast<double>(all.doubt[j]));
        out->cost += all.begin[j + 1] - all.begin[j];
        all.share[j] = all.doubt[j] = 0;
      }
      LogSumExp sum;
      if (!exact(std::span<const DoubtfulCluster>(last, end), &sum)) return false;
      out->near += sum.sum * std::exp(sum.max - out->most);
    }
    if (!(out->near + out->left < 0.5 * level)) return true;
    rescale(all, out);
  }
}

}  // namespace selfnorm::runtime
