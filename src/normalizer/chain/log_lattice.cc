#include "selfnorm/normalizer/chain/log_lattice.h"

#include <cmath>

#include "selfnorm/math/kernels.h"

namespace selfnorm {

template <class Real>
double LogLattice<Real>::forward(const BasicChainScores<Real>& scores) {
  labels_ = scores.labels;
  length_ = scores.length;
  a_.resize(length_ * labels_);
  terms_.resize(labels_);
  // a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v_t(j,k))
  for (uint64_t t = 0; t < length_; ++t) {
    for (uint64_t k = 0; k < labels_; ++k) {
      double before = 0;
      if (t > 0) {
        for (uint64_t j = 0; j < labels_; ++j)
          terms_[j] = prefix(t - 1)[j] + static_cast<double>(scores.pair_at(t)[j * labels_ + k]);
        before = exp_in_place(terms_.data(), labels_).value();
      }
      a_[t * labels_ + k] = before + static_cast<double>(scores.unary_at(t)[k]);
    }
  }
  terms_.assign(prefix(length_ - 1), prefix(length_ - 1) + labels_);
  return log_z_ = exp_in_place(terms_.data(), labels_).value();
}

template <class Real>
void LogLattice<Real>::backward(const BasicChainScores<Real>& scores) {
  b_.assign(length_ * labels_, 0);
  // b_t(j) = log sum_k exp(v_{t+1}(j,k) + u_{t+1}(k) + b_{t+1}(k))
  for (uint64_t t = length_ - 1; t > 0; --t) {
    for (uint64_t j = 0; j < labels_; ++j) {
      for (uint64_t k = 0; k < labels_; ++k) {
        terms_[k] = static_cast<double>(scores.pair_at(t)[j * labels_ + k]) +
                    static_cast<double>(scores.unary_at(t)[k]) + b_[t * labels_ + k];
      }
      b_[(t - 1) * labels_ + j] = exp_in_place(terms_.data(), labels_).value();
    }
  }
}

template <class Real>
double LogLattice<Real>::marginal(uint64_t t, uint32_t k) const {
  return std::exp(a_[t * labels_ + k] + b_[t * labels_ + k] - log_z_);
}

// body(j, k, p(y_{t-1} = j, y_t = k), log p(y_{t-1} = j | y_t = k)) where p > 0.
template <class Real>
template <class Body>
void LogLattice<Real>::each_pair(const BasicChainScores<Real>& scores, uint64_t t, const Body& body) const {
  for (uint64_t j = 0; j < labels_; ++j) {
    for (uint64_t k = 0; k < labels_; ++k) {
      const uint64_t at = t * labels_ + k;
      const double joined = prefix(t - 1)[j] + static_cast<double>(scores.pair_at(t)[j * labels_ + k]) +
                            static_cast<double>(scores.unary_at(t)[k]);
      const double p = std::exp(joined + b_[at] - log_z_);
      if (p > 0) body(j, k, p, joined - a_[at]);
    }
  }
}

template <class Real>
void LogLattice<Real>::add_pairs(const BasicChainScores<Real>& scores, double weight,
                                 std::span<double> expected) const {
  for (uint64_t t = 1; t < length_; ++t) {
    double* out = expected.data() + (scores.has_own_pairs ? t * labels_ * labels_ : 0);
    each_pair(scores, t,
              [&](uint64_t j, uint64_t k, double p, double) { out[j * labels_ + k] += weight * p; });
  }
}

template <class Real>
double LogLattice<Real>::entropy(const BasicChainScores<Real>& scores) const {
  double sum = 0;
  for (uint64_t k = 0; k < labels_; ++k) {
    const double log_p = prefix(length_ - 1)[k] - log_z_, p = std::exp(log_p);
    if (p > 0) sum -= p * log_p;
  }
  for (uint64_t t = 1; t < length_; ++t)
    each_pair(scores, t, [&](uint64_t, uint64_t, double p, double log_p) { sum -= p * log_p; });
  return sum;
}

template class LogLattice<float>;
template class LogLattice<double>;

}  // namespace selfnorm
