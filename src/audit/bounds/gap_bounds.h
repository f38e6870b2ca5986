// Upper bounds of the likelihood gap [ARJK 4], theory.md 2. For parameters eta and
//     V_m(eta) = mean_i (A(x_i) - m)^2,      m = log sum_y h(y),
// the gap at delta is l(eta) - max { l(eta') : V_m(eta') <= delta^2 } per example. Every bound compares with
// some feasible t eta. With R >= sup |T|, |A(x; t eta) - m| <= t R |eta|, so t = alpha is feasible:
//     alpha = min(1, delta / (R |eta|)).
//
// For any eta, because l is concave along t eta:
//     concavity    (1-alpha) (l(eta) - l(0)),                  l(0) = mean log h(y) - m
//     path         l(eta) - l(t eta), t the largest in [alpha, 1] with V_m(t eta) <= delta^2 that a scan
//     finds
// With the slope eta . grad l(eta) = mean (s_y - E_p s) <= 0, and so at a maximum of l, where it is 0:
//     Theorem 2    (1-alpha) mean KL(p(.|x) || h / sum h)
//     Prop. 3      (1-alpha)^2/2 mean sum_{y != y*} h(y)/h(y*) g_y^2 exp(-alpha g_y),     g_y = s(y*) - s(y),
//                  y* the best output;  <=  b (|eta| - delta/R)^2 exp(-c delta/R),
//                  b = 2 R^2 max_i sum_{y != y*} h(y)/h(y*)  (2 (K-1) R^2 for h = 1),      c = min g / |eta|.
// Proposition 3 asks for a unique y*; where outputs tie the bounds still hold, with c = 0. For any eta the
// two hold with (1-alpha) slope added, which turns Theorem 2 into the concavity form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/bounds/scored_examples.h"

namespace selfnorm {

struct GapBounds {
  double m = 0;
  double norm = 0;    // |eta|
  double radius = 0;  // R
  double alpha = 0;
  double nll = 0;    // -l(eta)
  double slope = 0;  // eta . grad l(eta), per example
  double kl = 0;     // mean KL(p(.|x) || h / sum h)
  double rms = 0;    // sqrt(V_m(eta))

  double concavity = 0;
  double path = 0;
  double path_scale = 0;  // its t
  double path_rms = 0;    // sqrt(V_m(t eta))
  double theorem2 = 0;
  double proposition3 = 0;
  double proposition3_closed = 0;  // with b and c
  double b = 0, c = 0;
  uint64_t ties = 0;  // examples whose best output is not unique
};

// Means are weighted by the examples' weights. Throws Error for delta that is no number > 0, weights that sum
// to nothing, and groups of different sizes: log sum h must be one number m.
GapBounds gap_bounds(const ScoredExamples& examples, double delta);
// The same without the path, whose fields stay 0: one pass over the examples.
GapBounds gap_bounds_at_alpha(const ScoredExamples& examples, double delta);

// A(x; t eta) = log sum_y h(y) exp(t s(y)); t = 0 gives m.
double log_normalizer(const ScoredExample& example, double t);

struct PathPoint {
  double scale = 0;  // t
  double nll = 0;    // -l(t eta)
  double rms = 0;    // sqrt(V_m(t eta))
};

// The points of the path at these t, in one pass over the examples, whose weights do not sum to 0.
std::vector<PathPoint> path_points(const ScoredExamples& examples, std::span<const double> scales);

}  // namespace selfnorm
