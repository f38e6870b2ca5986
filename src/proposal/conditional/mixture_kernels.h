// Mixtures of normals at a block of points, compiled for several instruction sets (math/kernels.h). With
// tau_kj = (y_j - anchor_kj) inverse_kj (proposal/conditional/truncated_normal.h),
//     t_k(y) = constant_k - sum_j tau_kj (tau_kj / 2 + tilt_kj).
#pragma once

#include <cstddef>

namespace selfnorm {

// Points of a block, and of a vector at most: arrays over points are kMixtureBlock apart and padded to whole
// vectors, arrays over components padded likewise.
inline constexpr size_t kMixtureBlock = 64, kMixtureVector = 8;

inline size_t whole_vectors(size_t n) { return (n + kMixtureVector - 1) / kMixtureVector * kMixtureVector; }

struct MixtureTerms {
  size_t count, dimension;
  const double* constant;                 // count
  const double *anchor, *inverse, *tilt;  // count x dimension
};

// share_ki <- exp(t_k(y_i) - max_k), log_sum_i <- log sum_k exp(t_k(y_i)), inverse_sum_i <- 1 / sum_k
// share_ki for the n points y_ji, all finite.
struct MixtureShares {
  double *share, *log_sum, *inverse_sum;
};
void mixture_shares(const MixtureTerms& terms, size_t n, const double* y, const MixtureShares& out);

// sums_k += sum_i c_i share_ki (1, tau_kj, tau_kj^2), (1 + 2 d) numbers a component; c is 0 in the padding.
void mixture_moments(const MixtureTerms& terms, size_t n, const double* y, const double* share,
                     const double* c, double* sums);

// s_i <- least + softplus(raw_i), log s_i, and the slope ds_i / draw_i = sigma(raw_i), finite, for raw.
struct MixtureScales {
  double *scale, *log_scale, *slope;  // slope holds raw before
};
void mixture_scales(size_t n, double least, const MixtureScales& out);

// a_i <- log(exp(a_i + log_a) + exp(b_i + log_b)) below +inf; NaN gives NaN. kMixtureVector divides n.
struct LogWeights {
  double log_a, log_b;
};
void log_weighted_sums(size_t n, const LogWeights& weights, double* a, const double* b);

}  // namespace selfnorm
