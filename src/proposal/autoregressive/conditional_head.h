// The conditional distribution of one column given those before it, whose parameters t a network gives:
//   levels  logits of the levels above 0, level 0 has the logit 0: log q(x) = t_x - log sum_l exp t_l,
//           d/dt_l = [x = l] - q(l)
//   real    a mixture of normals, t = (logit_k, mean_k, raw_k), log s_k = least + softplus(raw_k - least):
//           with shares r_k of x and z_k = (x - mean_k) / s_k,
//           d/dlogit_k = r_k - pi_k,  d/dmean_k = r_k z_k / s_k,  d/draw_k = r_k (z_k^2 - 1) sigma(raw_k -
//           least)
//   angle   a mixture of von Mises distributions in radians, t = (logit_k, a_k, b_k):
//           exp(a_k cos x + b_k sin x) / (2 pi I_0(kappa_k)), kappa_k = |(a_k, b_k)|,
//           d/da_k = r_k (cos x - I_1/I_0(kappa_k) a_k / kappa_k), b likewise with sin x
// Inputs that later columns see: indicators of the levels above 0; x; (cos x, sin x).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"

namespace selfnorm {

struct ConditionalHead {
  enum class Kind : uint32_t { levels, real, angle };

  static constexpr uint32_t kMostComponents = 64;

  Kind kind = Kind::real;
  uint32_t count = 1;  // levels, or components of a mixture; >= 1

  uint32_t inputs() const { return kind == Kind::levels ? count - 1 : kind == Kind::real ? 1 : 2; }
  uint32_t parameters() const { return kind == Kind::levels ? count - 1 : 3 * count; }

  void input(float x, float* out) const;
  // d input / dx, of real and angles.
  void input_slope(float x, float* out) const;

  // log q(x); its derivative by t into `d` unless that is null, and by x (0 for levels) into `dx` likewise.
  double log_prob(const float* t, float x, float* d, double* dx = nullptr) const;
  float draw(const float* t, RandomStream& random) const;

  // t of a column that the others say nothing of, from its values.
  std::vector<float> start(std::span<const float> values) const;
};

}  // namespace selfnorm
