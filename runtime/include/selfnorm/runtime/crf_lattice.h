// The dynamic program of one sentence of a CRF, written once: the C interface (crf_scorer.h) and training
// (normalizer/crf/lattice.h) give it their memory, their numbers and their kernels. Scaled forward-backward
// [Rabiner 1989]: with m_t = max_k u_t(k), n_t = max v_t, e_t(k) = exp(u_t(k) - m_t),
// E_t(j,k) = exp(v_t(j,k) - n_t),
//     alpha_1(k) = e_1(k) / c_1,   alpha_t(k) = e_t(k) sum_j alpha_{t-1}(j) E_t(j,k) / c_t,
//     c_t so that sum_k alpha_t(k) = 1,   A = sum_t (log c_t + m_t) + sum_{t>=2} n_t,
//     beta_T(k) = 1,   beta_{t-1}(j) = sum_k E_t(j,k) g_t(k),   g_t(k) = e_t(k) beta_t(k) / c_t,
//     p(y_t = k) = alpha_t(k) beta_t(k),   p(y_{t-1} = j, y_t = k) = alpha_{t-1}(j) E_t(j,k) g_t(k).
// No underflow at any length. What the smallest numbers lose has the share (what is lost) beta_t / c_t of all
// labellings: so c_t >= small, and where some alpha_t c_t is below `narrow` beta must stay below `wide`; else
// the sentence goes through the same recursions in log space and in double:
//     a_1(k) = u_1(k),   a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v_t(j,k)),   A = log sum_k exp a_T(k),
//     b_T(k) = 0,        b_{t-1}(j) = log sum_k exp(v_t(j,k) + h_t(k)),   h_t(k) = u_t(k) + b_t(k),
//     p(y_t = k) in proportion to exp(a_t(k) + b_t(k)),
// where the largest a_t(k) and the largest h_t(k) are taken off at every t: they would swallow differences.
//
// A Room has `Real`, the type of factors, whose rows are padded with zeros to stride(), and
//     labels(), stride(), length()
//     unary(t), pair(t)            u_t (L) and v_t (L x L, t >= 1) until the next call; null: not finite
//     unary_score(t, k), pair_score(t, j, k)   of the labelling that crf_log_prob is asked for
//     exp_unary(u, e)              e_t of u_t; gives m_t
//     load_pair(t), pair_max()     E_t becomes that of the products, and n_t; false: v_t is not finite
//     minds_narrow()               whether what prefixes below `narrow` may lose is looked for
//     forward_product(x, f, out)   out_k = f_k sum_j x_j E(j,k); gives SumLeast
//     backward_product(x, out)     out_j = sum_k E(j,k) x_k
//     products(a, x, y, out)       out_k = a x_k y_k, `out` may be x; gives their sum
//     exp_in_place(x)              x_k <- exp(x_k - max), k < L, in double; gives LogSumExp
//     scale(a, x)                  x_k <- a x_k
//     state()                      LatticeState, kept from forward to backward
//     shift(t)                     PositionShift&, kept likewise
//     alpha(t), factor(t), row(i)  rows: kept likewise; e_t, then g_t; two to work in
//     prefix(t), log_row(i)        rows of L doubles for log space: a_t, kept likewise; three to work in
//     marginal(t), log_marginal(t) where p(y_t = .) goes; null: not wanted; in log space
// and for crf_viterbi
//     delta(t), from(t)            delta_t of the last two positions at least; L whole numbers for each t
//     max_plus(x, v, best, from)   best_k = max_j x_j + v(j,k), from_k the first j that has it
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::runtime {

struct LatticeState {
  bool is_log = false, has_backward = false;
};
struct PositionShift {
  double unary_max, pair_max, scale;  // m_t, n_t, c_t
};

// What is lost below the smallest normal number, times `wide`, is nothing beside 1; c_t >= `small` keeps g_t
// finite.
struct LatticeLimits {
  double narrow, wide, small;
};
template <class Real>
inline constexpr LatticeLimits kLatticeLimits{1e-30, 1e15, 1e-20};
template <>
inline constexpr LatticeLimits kLatticeLimits<double>{1e-280, 1e140, 1e-140};

// g_t and the marginals. beta_t is divided by sum_k alpha_t(k) beta_t(k), which is 1 but for rounding, so
// that rounding does not grow with length. Whether every beta is a number below `wide`, where that is asked.
template <class Room>
bool scaled_backward(Room& room, bool asks) {
  using Real = typename Room::Real;
  const size_t n = room.labels();
  const Real wide = static_cast<Real>(kLatticeLimits<Real>.wide);
  Real *beta = room.row(0), *share = room.row(1);
  bool is_good = true;
  for (size_t t = room.length(); t-- > 0;) {
    if (t + 1 == room.length()) {
      std::fill_n(beta, room.stride(), Real{1});
    } else {
      Real* g = room.factor(t + 1);
      room.products(1 / room.shift(t + 1).scale, g, beta, g);
      room.load_pair(t + 1);
      room.backward_product(g, beta);
    }
    const double inverse = 1 / room.products(1, room.alpha(t), beta, share);
    room.scale(inverse, beta);
    for (size_t k = 0; asks && k < n; ++k) is_good = is_good && beta[k] <= wide;
    Real* p = room.marginal(t);
    if (p == nullptr) continue;
    room.scale(inverse, share);
    std::copy_n(share, n, p);
  }
  return is_good;
}

// x - max x; gives max x.
inline double take_off_largest(double* x, size_t n) {
  const double largest = *std::max_element(x, x + n);
  for (size_t k = 0; k < n; ++k) x[k] -= largest;
  return largest;
}

// out_j = a_{t-1}(j) + v_t(j,k), in proportion to whose exp is p(y_{t-1} = j | y_t = k).
template <class Score>
void log_column(const double* prefix, const Score* pair, size_t n, size_t k, double* out) {
  for (size_t j = 0; j < n; ++j) out[j] = prefix[j] + static_cast<double>(pair[j * n + k]);
}

template <class Room>
double log_forward(Room& room) {
  const size_t n = room.labels();
  double log_z = 0, *terms = room.log_row(2);
  for (size_t t = 0; t < room.length(); ++t) {
    double* a = room.prefix(t);
    const auto* v = t > 0 ? room.pair(t) : nullptr;
    const auto* u = room.unary(t);
    for (size_t k = 0; k < n; ++k) {
      a[k] = static_cast<double>(u[k]);
      if (t == 0) continue;
      log_column(room.prefix(t - 1), v, n, k, terms);
      a[k] += room.exp_in_place(terms).value();
    }
    log_z += take_off_largest(a, n);
  }
  std::copy_n(room.prefix(room.length() - 1), n, terms);
  return log_z + room.exp_in_place(terms).value();
}

template <class Room>
void log_backward(Room& room) {
  const size_t n = room.labels();
  double *b = room.log_row(0), *h = room.log_row(1), *terms = room.log_row(2);
  std::fill_n(b, n, 0.0);
  for (size_t t = room.length(); t-- > 0;) {
    if (t + 1 < room.length()) {
      const auto* u = room.unary(t + 1);
      for (size_t k = 0; k < n; ++k) h[k] = static_cast<double>(u[k]) + b[k];
      take_off_largest(h, n);
      const auto* v = room.pair(t + 1);
      for (size_t j = 0; j < n; ++j) {
        for (size_t k = 0; k < n; ++k) terms[k] = static_cast<double>(v[j * n + k]) + h[k];
        b[j] = room.exp_in_place(terms).value();
      }
    }
    double* p = room.log_marginal(t);
    for (size_t k = 0; k < n; ++k) p[k] = room.prefix(t)[k] + b[k];
    const double sum = room.exp_in_place(p).sum;
    for (size_t k = 0; k < n; ++k) p[k] /= sum;
  }
}

// A, 0 for T = 0; NaN where a score is not finite: all are looked at, also after c_t has vanished.
template <class Room>
double crf_forward(Room& room) {
  using Real = typename Room::Real;
  constexpr LatticeLimits kLimits = kLatticeLimits<Real>;
  const size_t n = room.labels();
  bool has_vanished = false, is_narrow = false;
  double log_z = 0;
  for (size_t t = 0; t < room.length(); ++t) {
    const auto* u = room.unary(t);
    const bool has_pair = t == 0 || (has_vanished ? room.pair(t) != nullptr : room.load_pair(t));
    if (u == nullptr || !has_pair) return std::numeric_limits<double>::quiet_NaN();
    if (has_vanished) continue;
    Real *e = room.factor(t), *alpha = room.alpha(t);
    PositionShift& shift = room.shift(t) = {room.exp_unary(u, e), t == 0 ? 0 : room.pair_max(), 0};
    SumLeast c{0, 1};
    if (t == 0) {
      std::copy_n(e, room.stride(), alpha);
      for (size_t k = 0; k < n; ++k) {
        const auto x = static_cast<double>(e[k]);
        c = {c.sum + x, std::min(c.least, x)};
      }
    } else {
      c = room.forward_product(room.alpha(t - 1), e, alpha);
    }
    has_vanished = !(c.sum >= kLimits.small);
    is_narrow = is_narrow || (room.minds_narrow() && c.least < kLimits.narrow);
    shift.scale = c.sum;
    log_z += std::log(c.sum) + (shift.unary_max + shift.pair_max);
    room.scale(1 / c.sum, alpha);
  }
  LatticeState& state = room.state() = {has_vanished, false};
  if (is_narrow && !has_vanished) {
    state.has_backward = scaled_backward(room, true);
    state.is_log = !state.has_backward;
  }
  return state.is_log ? log_forward(room) : log_z;
}

// After crf_forward: marginals, and in a lattice that is scaled g_t.
template <class Room>
void crf_backward(Room& room) {
  LatticeState& state = room.state();
  if (state.is_log)
    log_backward(room);
  else if (!state.has_backward)
    scaled_backward(room, false);
  state.has_backward = true;
}

// After crf_forward: log p(y|x) of differences at each position, which large scores do not swallow; at most
// 0.
//     scaled:     sum_t (u_t(y_t) - m_t - log c_t) + sum_{t>=2} (v_t(y_{t-1}, y_t) - n_t)
//     log space:  log p(y_T) + sum_{t>=2} log p(y_{t-1} | y_t)
template <class Room>
double crf_log_prob(Room& room, const uint32_t* labels) {
  const size_t n = room.labels(), length = room.length();
  double sum = 0;
  if (!room.state().is_log) {
    for (size_t t = 0; t < length; ++t) {
      const PositionShift shift = room.shift(t);
      sum += static_cast<double>(room.unary_score(t, labels[t])) - shift.unary_max - std::log(shift.scale);
      if (t > 0) sum += static_cast<double>(room.pair_score(t, labels[t - 1], labels[t])) - shift.pair_max;
    }
    return std::min(sum, 0.0);
  }
  LogSumExp last;
  for (size_t k = 0; k < n; ++k) last.add(room.prefix(length - 1)[k]);
  sum = last.log_share(room.prefix(length - 1)[labels[length - 1]]);
  for (size_t t = 1; t < length; ++t) {
    const auto* v = room.pair(t);
    const auto term = [&](size_t j) {
      return room.prefix(t - 1)[j] + static_cast<double>(v[j * n + labels[t]]);
    };
    LogSumExp before;
    for (size_t j = 0; j < n; ++j) before.add(term(j));
    sum += before.log_share(term(labels[t - 1]));
  }
  return std::min(sum, 0.0);
}

// delta_1(k) = u_1(k),  delta_t(k) = max_j (delta_{t-1}(j) + v_t(j,k)) + u_t(k) in double, added in the order
// of the score of a labelling, and the first j that has it; false where a score is not finite.
template <class Room>
bool crf_viterbi(Room& room) {
  const size_t n = room.labels();
  for (size_t t = 0; t < room.length(); ++t) {
    double* delta = room.delta(t);
    const auto* v = t > 0 ? room.pair(t) : nullptr;
    const auto* u = room.unary(t);
    if (u == nullptr || (t > 0 && v == nullptr)) return false;
    if (t == 0)
      std::fill_n(delta, n, 0.0);
    else
      room.max_plus(room.delta(t - 1), v, delta, room.from(t));
    for (size_t k = 0; k < n; ++k) delta[k] += static_cast<double>(u[k]);
  }
  return true;
}

// After crf_viterbi: the labelling of highest score; ties: the smaller label, of the last position first.
template <class Room>
void crf_best_path(Room& room, uint32_t* labels) {
  if (room.length() == 0) return;
  size_t t = room.length() - 1;
  const double* last = room.delta(t);
  auto label = static_cast<uint32_t>(std::max_element(last, last + room.labels()) - last);
  for (; t > 0; --t) {
    labels[t] = label;
    label = static_cast<uint32_t>(room.from(t)[label]);
  }
  labels[0] = label;
}

}  // namespace selfnorm::runtime
