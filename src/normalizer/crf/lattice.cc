#include "normalizer/crf/lattice.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Losses below the smallest normal number, times `wide`, are nothing beside 1; c_t >= `small` keeps g_t
// finite.
struct Limits {
  double narrow, wide, small;
};
template <class Real>
constexpr Limits kLimits{1e-30, 1e15, 1e-20};
template <>
constexpr Limits kLimits<double>{1e-280, 1e140, 1e-140};

constexpr uint64_t kOuterTerms = 256;  // summed in Real before they join a sum in double

}  // namespace

template <class Real>
void PairFactors<Real>::assign(const Real* pair, uint32_t labels) {
  const uint64_t n = labels;
  space = {n, padded_width<Real>(n)};
  transpose.assign(pair, pair + n * n);
  max = exp_in_place(transpose.data(), n * n).max;
  factor.assign(n * space.stride, 0);
  for (uint64_t j = 0; j < n; ++j) std::copy_n(transpose.data() + j * n, n, factor.data() + j * space.stride);
  transpose.assign(n * space.stride, 0);
  for (uint64_t j = 0; j < n; ++j)
    for (uint64_t k = 0; k < n; ++k) transpose[k * space.stride + j] = factor[j * space.stride + k];
}

template <class Real>
const PairFactors<Real>& BasicLattice<Real>::factors_at(const Scores& scores, uint64_t t) {
  if (!scores.has_own_pairs) return *shared_;
  own_.assign(scores.pair_at(t), scores.labels);
  return own_;
}

template <class Real>
double BasicLattice<Real>::forward(const Scores& scores) {
  if (!scores.has_own_pairs) {
    SELFNORM_CHECK(scores.pair.size() == uint64_t{scores.labels} * scores.labels);
    own_.assign(scores.pair.data(), scores.labels);
  }
  return forward(scores, own_);
}

template <class Real>
double BasicLattice<Real>::forward(const Scores& scores, const PairFactors<Real>& shared) {
  check_scores(scores);
  shared_ = &shared;
  space_ = {scores.labels, padded_width<Real>(scores.labels)};
  is_narrow_ = is_log_ = has_backward_ = false;
  if (scores.length == 0) return 0;
  is_log_ = !scaled_forward(scores);
  if (is_narrow_ && !is_log_) {
    scaled_backward(scores);
    has_backward_ = true;
    for (const Real b : beta_) is_log_ |= !(b <= static_cast<Real>(kLimits<Real>.wide));
  }
  if (is_log_) {
    has_backward_ = false;
    return log_.forward(scores);
  }
  double log_z = 0;
  for (uint64_t t = 0; t < scores.length; ++t) log_z += std::log(scale_[t]) + (shift_[t] + pair_shift_[t]);
  return log_z;
}

// alpha_t(k) = e_t(k) sum_j alpha_{t-1}(j) E_t(j,k) / c_t
template <class Real>
bool BasicLattice<Real>::scaled_forward(const Scores& scores) {
  const size_t stride = space_.stride;
  unary_.assign(scores.length * stride, 0);
  alpha_.resize(scores.length * stride);
  scale_.resize(scores.length);
  shift_.resize(scores.length);
  pair_shift_.assign(scores.length, 0);
  for (uint64_t t = 0; t < scores.length; ++t) {
    Real* e = unary_.data() + t * stride;
    Real* alpha = alpha_.data() + t * stride;
    std::copy_n(scores.unary_at(t), space_.n, e);
    const LogSumExp first = exp_in_place(e, space_.n);
    SumMin c{first.sum, 0};
    shift_[t] = first.max;
    if (t == 0) {
      std::copy_n(e, stride, alpha);
      c.min = static_cast<double>(*std::min_element(e, e + space_.n));
    } else {
      const PairFactors<Real>& pair = factors_at(scores, t);
      pair_shift_[t] = pair.max;
      c = scaled_product(space_, alpha - stride, pair.factor.data(), e, alpha);
    }
    if (!(c.sum >= kLimits<Real>.small)) return false;
    is_narrow_ |= c.min < kLimits<Real>.narrow;
    scale_[t] = c.sum;
    scale(static_cast<Real>(1 / c.sum), alpha, stride);
  }
  return true;
}

template <class Real>
void BasicLattice<Real>::backward(const Scores& scores) {
  if (is_log_) {
    log_.backward(scores);
    marginal_.resize(scores.length * space_.n);
    for (uint64_t t = 0; t < scores.length; ++t)
      for (uint32_t k = 0; k < space_.n; ++k)
        marginal_[t * space_.n + k] = static_cast<Real>(log_.marginal(t, k));
  } else if (!has_backward_) {
    scaled_backward(scores);
  }
  has_backward_ = true;
}

// g_t(k) = e_t(k) beta_t(k) / c_t,   beta_{t-1}(j) = sum_k E_t(j,k) g_t(k), and beta_t is divided by
// sum_k alpha_t(k) beta_t(k), which is 1 but for rounding, so that rounding does not grow with length.
template <class Real>
void BasicLattice<Real>::scaled_backward(const Scores& scores) {
  const size_t stride = space_.stride;
  beta_.resize(scores.length * stride);
  marginal_.resize(scores.length * space_.n);
  outer_.resize(std::max(outer_.size(), stride));
  for (uint64_t t = scores.length; t-- > 0;) {
    Real* beta = beta_.data() + t * stride;
    if (t + 1 == scores.length) {
      std::fill_n(beta, stride, Real{1});
    } else {
      Real* g = unary_.data() + (t + 1) * stride;
      multiply_rows(space_, 1 / scale_[t + 1], g, beta + stride, g);
      scaled_product<Real>(space_, g, factors_at(scores, t + 1).transpose.data(), nullptr, beta);
    }
    const double sum = multiply_rows(space_, 1, alpha_.data() + t * stride, beta, outer_.data());
    scale(static_cast<Real>(1 / sum), beta, stride);
    scale(static_cast<Real>(1 / sum), outer_.data(), stride);
    std::copy_n(outer_.data(), space_.n, marginal_.data() + t * space_.n);
  }
}

// expected(j,k) += weight E(j,k) sum_t alpha_{t-1}(j) g_t(k)
template <class Real>
void BasicLattice<Real>::add_pairs(const Scores& scores, double weight, std::span<double> expected) {
  SELFNORM_CHECK(has_backward_ || scores.length == 0);
  SELFNORM_CHECK(expected.size() == scores.pair.size());
  if (scores.length == 0) return;
  if (is_log_) return log_.add_pairs(scores, weight, expected);
  const uint64_t step = scores.has_own_pairs ? 1 : kOuterTerms;
  for (uint64_t first = 1; first < scores.length; first += step) {
    outer_.assign(space_.n * space_.stride, 0);
    add_outer(space_, std::min(step, scores.length - first), alpha_.data() + (first - 1) * space_.stride,
              unary_.data() + first * space_.stride, outer_.data());
    const PairFactors<Real>& pair = factors_at(scores, first);
    double* out = expected.data() + (scores.has_own_pairs ? first * space_.n * space_.n : 0);
    for (size_t j = 0; j < space_.n; ++j) {
      const Real *sum = outer_.data() + j * space_.stride, *factor = pair.factor.data() + j * space_.stride;
      for (size_t k = 0; k < space_.n; ++k)
        out[j * space_.n + k] += weight * (static_cast<double>(sum[k]) * static_cast<double>(factor[k]));
    }
  }
}

// sum_t log c_t - sum_t E[u_t - m_t] - sum_{t>=2} E[v_t - n_t]: the same without the large shifts.
template <class Real>
double BasicLattice<Real>::entropy(const Scores& scores) {
  if (scores.length == 0) return 0;
  if (is_log_) return log_.entropy(scores);
  expected_.assign(scores.pair.size(), 0);
  add_pairs(scores, 1, expected_);
  double sum = 0;
  const uint64_t square = space_.n * space_.n;
  for (uint64_t first = 0; first < expected_.size(); first += square) {
    const Real* pair = scores.pair.data() + first;
    if (scores.has_own_pairs && first == 0) continue;
    const auto max = static_cast<double>(*std::max_element(pair, pair + square));
    for (uint64_t i = 0; i < square; ++i) sum -= expected_[first + i] * (static_cast<double>(pair[i]) - max);
  }
  for (uint64_t t = 0; t < scores.length; ++t) {
    const Real *u = scores.unary_at(t), *p = marginal_.data() + t * space_.n;
    const auto max = static_cast<double>(*std::max_element(u, u + space_.n));
    sum += std::log(scale_[t]);
    for (size_t k = 0; k < space_.n; ++k)
      sum -= static_cast<double>(p[k]) * (static_cast<double>(u[k]) - max);
  }
  return std::max(sum, 0.0);
}

template <class Real>
double BasicLattice<Real>::log_prob(const Scores& scores, std::span<const uint32_t> labels) const {
  if (is_log_) return log_.log_prob(scores, labels);
  double sum = 0;
  for (uint64_t t = 0; t < scores.length; ++t) {
    sum += static_cast<double>(scores.unary_at(t)[labels[t]]) - shift_[t] - std::log(scale_[t]);
    if (t == 0) continue;
    const Real v = scores.pair_at(t)[labels[t - 1] * uint64_t{scores.labels} + labels[t]];
    sum += static_cast<double>(v) - pair_shift_[t];
  }
  return std::min(sum, 0.0);
}

template <class Real>
void BasicLattice<Real>::prefix_weights(const Scores& scores, uint64_t t, uint32_t next,
                                        std::span<double> weights) const {
  const bool is_last = t + 1 == scores.length;
  // log alpha_t(j) + v_{t+1}(j, next), of which the largest becomes 0
  for (uint64_t j = 0; j < space_.n; ++j) {
    weights[j] = is_log_ ? log_.prefix(t)[j] : std::log(static_cast<double>(alpha_[t * space_.stride + j]));
    if (!is_last) weights[j] += static_cast<double>(scores.pair_at(t + 1)[j * space_.n + next]);
  }
  exp_in_place(weights.data(), space_.n);
}

template struct PairFactors<float>;
template struct PairFactors<double>;
template class BasicLattice<float>;
template class BasicLattice<double>;

}  // namespace selfnorm
