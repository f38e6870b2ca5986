// Which clusters a rung of kind nearest sums exactly (ladder_layout.h), without allocation.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/ladder_layout.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::runtime {

// In units of exp(most): the exact sum, the approximate sum of what is left, and the doubt of that, sum
// u_j^2.
struct NearestSum {
  double most = 0, near = 0, left = 0, rest = 0;
  double square = 0;  // |x|^2 / norm
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

// Estimates are not exact where x is 0, which is often one input many times: one without known features.
inline constexpr double kLeastSquare = 0.3;
inline double doubted_square(double square) { return std::max(square, kLeastSquare); }

// What Kernels::cluster_shares writes, and what it read.
struct SharedClusters {
  std::span<float> share, doubt, worth;  // of clusters that were summed: 0; the doubt by class, written here
  std::span<const float> scatter;
  std::span<const uint32_t> begin;
};

inline constexpr size_t kMostAtOnce = 1024;  // clusters that are summed together

// The largest worth, but for a twentieth of it, for which the doubts of all clusters up to it are within the
// bound together. bound / K always fits; a cluster worth more than the bound never does.
inline float worth_within(const Kernels& kernels, const SharedClusters& all, double bound) {
  constexpr int kHalvings = 9;  // of numbers above 0, ordered as their bits are
  const double most = std::min(bound, double{std::numeric_limits<float>::max()});
  uint32_t low = std::bit_cast<uint32_t>(static_cast<float>(most / all.begin.back()));
  uint32_t high = std::bit_cast<uint32_t>(static_cast<float>(most));
  for (int i = 0; i < kHalvings; ++i) {
    const uint32_t middle = low + (high - low) / 2;
    const float worth = std::bit_cast<float>(middle);
    const double doubt = kernels.sum_up_to(all.doubt.size(), all.doubt.data(), all.worth.data(), worth);
    (doubt <= bound ? low : high) = middle;
  }
  return std::bit_cast<float>(low);
}

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
        std::min(double{kMostDoubt}, doubted_square(sum->square) * static_cast<double>(all.scatter[j]));
    const double doubt = share * std::expm1(exponent);
    all.share[j] = static_cast<float>(share);
    all.doubt[j] = static_cast<float>(doubt * doubt);
    sum->left += share;
    sum->rest += doubt * doubt;
  }
}

// `first` is the result of Kernels::cluster_shares, `square` that of x; exact(clusters, &sum) gives the
// LogSumExp of some clusters together, or false, which ends it. As many are asked for at once as the shares
// say are needed, those with the largest doubt by class. Where clusters turn out to be far smaller than they
// were estimated, what is left is looked at again, in units of what is left.
template <class Exact>
bool nearest_sum(const Kernels& kernels, const ClusterShares& first, double square, const SharedClusters& all,
                 double stop, const Exact& exact, NearestSum* out) {
  *out = {static_cast<double>(first.most), 0, first.total, first.doubt, square, 0};
  const size_t n = all.share.size();
  for (;;) {
    for (size_t j = 0; j < n; ++j)
      all.worth[j] = all.doubt[j] / static_cast<float>(static_cast<int32_t>(all.begin[j + 1] - all.begin[j]));
    const double level = out->near + out->left;
    while (out->near + out->left > kLostLevel * level) {
      const double bound = stop * stop * (out->near + out->left) * (out->near + out->left);
      if (stop > 0 && out->rest <= bound) break;
      const float least =
          worth_within(kernels, all, bound);  // 0 where stop is: all, however doubts are rounded
      uint32_t chosen[kMostAtOnce];
      size_t count = 0;
      for (size_t j = 0; j < n && count < kMostAtOnce; ++j) {
        chosen[count] = static_cast<uint32_t>(j);
        count += all.worth[j] > least ? 1 : 0;
      }
      if (count == 0) break;
      for (const uint32_t j : std::span(chosen, count)) {
        out->left = std::max(0.0, out->left - static_cast<double>(all.share[j]));
        out->rest = std::max(0.0, out->rest - static_cast<double>(all.doubt[j]));
        out->cost += all.begin[j + 1] - all.begin[j];
        all.share[j] = all.doubt[j] = all.worth[j] = 0;
      }
      LogSumExp sum;
      if (!exact(std::span<const uint32_t>(chosen, count), &sum)) return false;
      out->near += sum.sum * std::exp(sum.max - out->most);
    }
    if (!(out->near + out->left < 0.5 * level)) return true;
    rescale(all, out);
  }
}

}  // namespace selfnorm::runtime
