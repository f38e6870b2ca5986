#include "normalizer/crf/log_lattice.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"

namespace selfnorm {

namespace {

// x - max x; gives max x.
double take_off_largest(std::span<double> x) {
  const double largest = *std::max_element(x.begin(), x.end());
  for (double& s : x) s -= largest;
  return largest;
}

}  // namespace

template <class Real>
double LogLattice<Real>::forward(const BasicCrfScores<Real>& scores) {
  labels_ = scores.labels;
  length_ = scores.length;
  a_.resize(length_ * labels_);
  terms_.resize(labels_);
  double log_z = 0;
  // a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v_t(j,k))
  for (uint64_t t = 0; t < length_; ++t) {
    const std::span<double> a = std::span(a_).subspan(t * labels_, labels_);
    for (uint64_t k = 0; k < labels_; ++k) {
      double before = 0;
      if (t > 0) {
        for (uint64_t j = 0; j < labels_; ++j)
          terms_[j] = prefix(t - 1)[j] + static_cast<double>(scores.pair_at(t)[j * labels_ + k]);
        before = exp_in_place(terms_.data(), labels_).value();
      }
      a[k] = before + static_cast<double>(scores.unary_at(t)[k]);
    }
    log_z += take_off_largest(a);
  }
  terms_.assign(prefix(length_ - 1), prefix(length_ - 1) + labels_);
  return log_z + exp_in_place(terms_.data(), labels_).value();
}

template <class Real>
double LogLattice<Real>::log_prob(const BasicCrfScores<Real>& scores,
                                  std::span<const uint32_t> labels) const {
  LogSumExp last;
  for (uint64_t k = 0; k < labels_; ++k) last.add(prefix(length_ - 1)[k]);
  double sum = last.log_share(prefix(length_ - 1)[labels[length_ - 1]]);
  for (uint64_t t = 1; t < length_; ++t) {
    const auto term = [&](uint64_t j) {
      return prefix(t - 1)[j] + static_cast<double>(scores.pair_at(t)[j * labels_ + labels[t]]);
    };
    LogSumExp before;
    for (uint64_t j = 0; j < labels_; ++j) before.add(term(j));
    sum += before.log_share(term(labels[t - 1]));
  }
  return sum;
}

template <class Real>
void LogLattice<Real>::backward(const BasicCrfScores<Real>& scores) {
  marginal_.resize(length_ * labels_);
  std::vector<double> b(labels_), g(labels_);
  for (uint64_t t = length_; t-- > 0;) {
    // b_t(j) = log sum_k exp(v_{t+1}(j,k) + g_{t+1}(k)),   g_t(k) = u_t(k) + b_t(k)
    for (uint64_t j = 0; t + 1 < length_ && j < labels_; ++j) {
      for (uint64_t k = 0; k < labels_; ++k)
        terms_[k] = static_cast<double>(scores.pair_at(t + 1)[j * labels_ + k]) + g[k];
      b[j] = exp_in_place(terms_.data(), labels_).value();
    }
    double* p = marginal_.data() + t * labels_;
    for (uint64_t k = 0; k < labels_; ++k) {
      p[k] = prefix(t)[k] + b[k];
      g[k] = static_cast<double>(scores.unary_at(t)[k]) + b[k];
    }
    const double sum = exp_in_place(p, labels_).sum;
    for (uint64_t k = 0; k < labels_; ++k) p[k] /= sum;
    take_off_largest(g);
  }
}

template <class Real>
double LogLattice<Real>::marginal(uint64_t t, uint32_t k) const {
  return marginal_[t * labels_ + k];
}

// body(j, k, p(y_{t-1} = j, y_t = k), log p(y_{t-1} = j | y_t = k)) where p > 0.
template <class Real>
template <class Body>
void LogLattice<Real>::each_pair(const BasicCrfScores<Real>& scores, uint64_t t, const Body& body) const {
  std::vector<double> before(labels_);
  for (uint32_t k = 0; k < labels_; ++k) {
    for (uint64_t j = 0; j < labels_; ++j)
      before[j] = prefix(t - 1)[j] + static_cast<double>(scores.pair_at(t)[j * labels_ + k]);
    const double sum = exp_in_place(before.data(), labels_).sum;
    for (uint64_t j = 0; j < labels_; ++j) {
      const double p = marginal(t, k) * (before[j] / sum);
      if (p > 0) body(j, k, p, std::log(before[j] / sum));
    }
  }
}

template <class Real>
void LogLattice<Real>::add_pairs(const BasicCrfScores<Real>& scores, double weight,
                                 std::span<double> expected) const {
  for (uint64_t t = 1; t < length_; ++t) {
    double* out = expected.data() + (scores.has_own_pairs ? t * labels_ * labels_ : 0);
    each_pair(scores, t,
              [&](uint64_t j, uint64_t k, double p, double) { out[j * labels_ + k] += weight * p; });
  }
}

template <class Real>
double LogLattice<Real>::entropy(const BasicCrfScores<Real>& scores) const {
  double sum = 0;
  for (uint64_t k = 0; k < labels_; ++k) {
    const double p = marginal_[(length_ - 1) * labels_ + k];
    if (p > 0) sum -= p * std::log(p);
  }
  for (uint64_t t = 1; t < length_; ++t)
    each_pair(scores, t, [&](uint64_t, uint64_t, double p, double log_p) { sum -= p * log_p; });
  return sum;
}

template class LogLattice<float>;
template class LogLattice<double>;

}  // namespace selfnorm
