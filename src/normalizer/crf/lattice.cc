#include "normalizer/crf/lattice.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

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

// Scores were checked: none is null.
template <class Number>
template <class Self>
struct BasicLattice<Number>::Room {
  using Real = Number;

  Self& at;
  const Scores& scores;
  const PairFactors<Real>* pairs = nullptr;

  size_t labels() const { return at.space_.n; }
  size_t stride() const { return at.space_.stride; }
  size_t length() const { return scores.length; }
  const Real* unary(size_t t) const { return scores.unary_at(t); }
  const Real* pair(size_t t) const { return scores.pair_at(t); }
  Real unary_score(size_t t, size_t k) const { return unary(t)[k]; }
  Real pair_score(size_t t, size_t j, size_t k) const { return pair(t)[j * labels() + k]; }

  bool load_pair(size_t t) {
    pairs = &at.factors_at(scores, t);
    return true;
  }
  double pair_max() const { return pairs->max; }
  bool minds_narrow() const { return true; }
  double exp_unary(const Real* u, Real* e) const {
    std::copy_n(u, labels(), e);
    std::fill(e + labels(), e + stride(), Real{0});
    return selfnorm::exp_in_place(e, labels()).max;
  }
  SumLeast forward_product(const Real* x, const Real* factor, Real* out) const {
    return scaled_product(at.space_, x, pairs->factor.data(), factor, out);
  }
  void backward_product(const Real* x, Real* out) const {
    scaled_product<Real>(at.space_, x, pairs->transpose.data(), nullptr, out);
  }
  double products(double a, const Real* x, const Real* y, Real* out) const {
    return multiply_rows(at.space_, a, x, y, out);
  }
  LogSumExp exp_in_place(double* x) const { return selfnorm::exp_in_place(x, labels()); }
  void scale(double a, Real* x) const { selfnorm::scale(static_cast<Real>(a), x, stride()); }

  auto& state() const { return at.state_; }
  auto& shift(size_t t) const { return at.shift_[t]; }
  Real* alpha(size_t t) const { return at.alpha_.data() + t * stride(); }
  Real* factor(size_t t) const { return at.unary_.data() + t * stride(); }
  Real* row(size_t i) const { return at.row_.data() + i * stride(); }
  Real* marginal(size_t t) const { return at.marginal_.data() + t * labels(); }
  // Log space is rare: its memory is taken when it is entered.
  auto* prefix(size_t t) const { return at.prefix_.data() + t * labels(); }
  double* log_row(size_t i) const {
    at.prefix_.resize(length() * labels());
    at.log_marginal_.resize(length() * labels());
    at.log_row_.resize(3 * labels());
    return at.log_row_.data() + i * labels();
  }
  double* log_marginal(size_t t) const { return at.log_marginal_.data() + t * labels(); }
};

// What is lost is part of the error of the rung.
template <class Number>
struct BasicLattice<Number>::NearestRoom : Room<BasicLattice<Number>> {
  const LabelTail<Number>& tail;

  bool minds_narrow() const { return false; }
  SumLeast forward_product(const Number* x, const Number* factor, Number* out) const {
    BasicLattice& lattice = this->at;
    const size_t n = this->labels();
    const auto least = static_cast<Number>(tail.stop);
    lattice.near_.resize(n);
    size_t count = 0;
    for (uint32_t j = 0; j < n; ++j) {
      lattice.near_[count] = j;
      count += x[j] >= least ? 1 : 0;
    }
    lattice.near_count_ += count;
    double far = 1;
    for (size_t i = 0; i < count; ++i) far -= static_cast<double>(x[lattice.near_[i]]);
    const ListedRows<Number> rows{lattice.near_.data(), count, static_cast<Number>(std::max(0.0, far)),
                                  tail.mean.data()};
    return {listed_product(lattice.space_, x, this->pairs->factor.data(), rows, factor, out), 1};
  }
};

template <class Real>
LabelTail<Real>::LabelTail(const PairFactors<Real>& pairs, std::span<const double> share, double least)
    : stop(least), mean(pairs.space.stride) {
  SELFNORM_CHECK(share.size() == pairs.space.n);
  const std::vector<Real> weight(share.begin(), share.end());
  scaled_product<Real>(pairs.space, weight.data(), pairs.factor.data(), nullptr, mean.data());
}

template <class Real>
const PairFactors<Real>& BasicLattice<Real>::factors_at(const Scores& scores, uint64_t t) {
  if (!scores.has_own_pairs) return *shared_;
  own_.assign(scores.pair_at(t), scores.labels);
  return own_;
}

template <class Real>
void BasicLattice<Real>::reset(const Scores& scores, const PairFactors<Real>* shared) {
  check_scores(scores);
  shared_ = shared;
  state_ = {};
  space_ = {scores.labels, padded_width<Real>(scores.labels)};
  alpha_.resize(scores.length * space_.stride);
  unary_.resize(scores.length * space_.stride);
  marginal_.resize(scores.length * space_.n);
  shift_.resize(scores.length);
  row_.resize(2 * space_.stride);
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
  reset(scores, &shared);
  Room<BasicLattice> room{*this, scores};
  return runtime::crf_forward(room);
}

template <class Real>
double BasicLattice<Real>::forward_nearest(const Scores& scores, const PairFactors<Real>& shared,
                                           const LabelTail<Real>& tail) {
  SELFNORM_CHECK(!scores.has_own_pairs && tail.mean.size() == shared.space.stride);
  reset(scores, &shared);
  near_count_ = 0;
  NearestRoom room{{*this, scores}, tail};
  const double a = runtime::crf_forward(room);
  if (state_.is_log) near_count_ = uint64_t{scores.labels} * (scores.length - 1);
  return a;
}

template <class Real>
double BasicLattice<Real>::forward_in_log_space(const Scores& scores) {
  reset(scores, nullptr);
  if (scores.length == 0) return 0;
  state_.is_log = true;
  Room<BasicLattice> room{*this, scores};
  return runtime::log_forward(room);
}

template <class Real>
void BasicLattice<Real>::backward(const Scores& scores) {
  Room<BasicLattice> room{*this, scores};
  runtime::crf_backward(room);
  if (state_.is_log)
    std::ranges::transform(log_marginal_, marginal_.begin(), [](double p) { return static_cast<Real>(p); });
}

template <class Real>
void BasicLattice<Real>::add_pairs(const Scores& scores, double weight, std::span<double> expected) {
  SELFNORM_CHECK(state_.has_backward || scores.length == 0);
  SELFNORM_CHECK(expected.size() == scores.pair.size());
  const uint64_t step = scores.has_own_pairs || state_.is_log ? 1 : kOuterTerms;
  for (uint64_t first = 1; first < scores.length; first += step) {
    double* out = expected.data() + (scores.has_own_pairs ? first * space_.n * space_.n : 0);
    if (state_.is_log) {
      each_log_pair(scores, first,
                    [&](uint64_t j, uint64_t k, double p, double) { out[j * space_.n + k] += weight * p; });
      continue;
    }
    outer_.assign(space_.n * space_.stride, 0);
    add_outer(space_, std::min(step, scores.length - first), alpha_.data() + (first - 1) * space_.stride,
              unary_.data() + first * space_.stride, outer_.data());
    const PairFactors<Real>& pair = factors_at(scores, first);
    for (size_t j = 0; j < space_.n; ++j) {
      const Real *sum = outer_.data() + j * space_.stride, *factor = pair.factor.data() + j * space_.stride;
      for (size_t k = 0; k < space_.n; ++k)
        out[j * space_.n + k] += weight * (static_cast<double>(sum[k]) * static_cast<double>(factor[k]));
    }
  }
}

// body(j, k, p(y_{t-1} = j, y_t = k), log p(y_{t-1} = j | y_t = k)) where p > 0.
template <class Real>
template <class Body>
void BasicLattice<Real>::each_log_pair(const Scores& scores, uint64_t t, const Body& body) const {
  std::vector<double> before(space_.n);
  for (uint64_t k = 0; k < space_.n; ++k) {
    runtime::log_column(prefix_.data() + (t - 1) * space_.n, scores.pair_at(t), space_.n, k, before.data());
    const double sum = exp_in_place(before.data(), space_.n).sum;
    for (uint64_t j = 0; j < space_.n; ++j) {
      const double p = log_marginal_[t * space_.n + k] * (before[j] / sum);
      if (p > 0) body(j, k, p, std::log(before[j] / sum));
    }
  }
}

template <class Real>
double BasicLattice<Real>::log_entropy(const Scores& scores) const {
  double sum = 0;
  for (uint64_t k = 0; k < space_.n; ++k) {
    const double p = log_marginal_[(scores.length - 1) * space_.n + k];
    if (p > 0) sum -= p * std::log(p);
  }
  for (uint64_t t = 1; t < scores.length; ++t)
    each_log_pair(scores, t, [&](uint64_t, uint64_t, double p, double log_p) { sum -= p * log_p; });
  return sum;
}

template <class Real>
double BasicLattice<Real>::entropy(const Scores& scores) {
  if (state_.is_log) return log_entropy(scores);
  expected_.assign(scores.pair.size(), 0);
  add_pairs(scores, 1, expected_);
  double sum = 0;
  const uint64_t square = space_.n * space_.n;
  for (uint64_t first = scores.has_own_pairs ? square : 0; first < expected_.size(); first += square) {
    const Real* pair = scores.pair.data() + first;
    const auto max = static_cast<double>(*std::max_element(pair, pair + square));
    for (uint64_t i = 0; i < square; ++i) sum -= expected_[first + i] * (static_cast<double>(pair[i]) - max);
  }
  for (uint64_t t = 0; t < scores.length; ++t) {
    const Real *u = scores.unary_at(t), *p = marginal_.data() + t * space_.n;
    sum += std::log(shift_[t].scale);
    for (size_t k = 0; k < space_.n; ++k)
      sum -= static_cast<double>(p[k]) * (static_cast<double>(u[k]) - shift_[t].unary_max);
  }
  return std::max(sum, 0.0);
}

template <class Real>
double BasicLattice<Real>::log_prob(const Scores& scores, std::span<const uint32_t> labels) const {
  Room<const BasicLattice> room{*this, scores};
  return runtime::crf_log_prob(room, labels.data());
}

template <class Real>
void BasicLattice<Real>::prefix_weights(const Scores& scores, uint64_t t, uint32_t next,
                                        std::span<double> weights) const {
  const bool is_last = t + 1 == scores.length;
  // log alpha_t(j) + v_{t+1}(j, next), of which the largest becomes 0
  for (uint64_t j = 0; j < space_.n; ++j) {
    weights[j] = state_.is_log ? prefix_[t * space_.n + j]
                               : std::log(static_cast<double>(alpha_[t * space_.stride + j]));
    if (!is_last) weights[j] += static_cast<double>(scores.pair_at(t + 1)[j * space_.n + next]);
  }
  exp_in_place(weights.data(), space_.n);
}

template struct PairFactors<float>;
template struct PairFactors<double>;
template struct LabelTail<float>;
template struct LabelTail<double>;
template class BasicLattice<float>;
template class BasicLattice<double>;

}  // namespace selfnorm
