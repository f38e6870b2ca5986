// Forward-backward of crf_scorer.h, scaled [Rabiner 1989] and in double: with m_t = max_k u_t(k),
// n_t = max v_t, e_t(k) = exp(u_t(k) - m_t), E_t(j,k) = exp(v_t(j,k) - n_t),
//     alpha_1(k) = e_1(k) / c_1,   alpha_t(k) = e_t(k) sum_j alpha_{t-1}(j) E_t(j,k) / c_t,
//     c_t so that sum_k alpha_t(k) = 1,   A = sum_t (log c_t + m_t) + sum_{t>=2} n_t,
//     beta_T(k) = 1,   beta_{t-1}(j) = sum_k E_t(j,k) e_t(k) beta_t(k) / c_t,
//     p(y_t = k) = alpha_t(k) beta_t(k).
// What vanishes below 1e-308 has the share (what vanishes) beta_t / c_t of all labellings. So c_t >= kSmall,
// and where some alpha_t c_t is below kNarrow beta must stay below kWide; else the sentence goes through the
// same recursions in log space:
//     a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v_t(j,k)),   A = log sum_k exp a_T(k),
//     b_{t-1}(j) = log sum_k exp(v_t(j,k) + g_t(k)),   g_t(k) = u_t(k) + b_t(k),
//     p(y_t = k) in proportion to exp(a_t(k) + b_t(k)),
// where the largest a_t(k) and the largest g_t(k) are taken off at every t: they would swallow differences.
#include <cmath>
#include <limits>

#include "crf_pass.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::runtime {
namespace {

constexpr double kNarrow = 1e-280, kWide = 1e140, kSmall = 1e-140;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class CrfLattice {
 public:
  CrfLattice(const CrfLayout& layout, const CrfKernels& kernels, const selfnorm_sentence& x, void* memory)
      : pass_(layout, kernels, x, memory) {}

  // A; NaN where a score is not finite. With labels (not null) log_prob() is theirs.
  double forward(const uint32_t* labels = nullptr) {
    labels_ = labels;
    if (!scaled_forward()) return kNaN;
    is_log_ = has_vanished_ || (is_narrow_ && !scaled_backward(nullptr));
    if (is_log_) log_forward();
    return log_z_;
  }

  // log p(y|x), after forward, of differences at each position, which large scores do not swallow; at most 0.
  //     scaled:     sum_t (u_t(y_t) - m_t - log c_t) + sum_{t>=2} (v_t(y_{t-1}, y_t) - n_t)
  //     log space:  log p(y_T) + sum_{t>=2} log p(y_{t-1} | y_t), the last from a_{t-1}(j) + v_t(j, y_t)
  double log_prob() const { return std::min(log_prob_, 0.0); }

  // After forward.
  void marginals(double* out) {
    if (is_log_)
      log_backward(out);
    else
      scaled_backward(out);
  }

 private:
  // E_t in place, computed again only where v_t changes; false where it is not finite. n_t is in pair_max_.
  bool pair_factors(size_t t) {
    const bool is_shared = pass_.has_shared_pair(t);
    if (is_shared && holds_shared_) return true;
    const float* v = pass_.pair(t);
    if (v == nullptr) return false;
    const size_t n = pass_.labels;
    pair_max_ = static_cast<double>(*std::max_element(v, v + n * n));
    for (size_t j = 0; j < n; ++j)
      pass_.kernels.exp_shifted(v + j * n, n, pair_max_, pass_.pair_factor + j * pass_.stride);
    holds_shared_ = is_shared;
    return true;
  }

  // All scores are looked at, also after c_t has vanished; false where one is not finite.
  bool scaled_forward() {
    const size_t n = pass_.labels, stride = pass_.stride;
    for (size_t t = 0; t < pass_.length; ++t) {
      double *e = pass_.unary_factor + t * stride, *alpha = pass_.alpha + t * stride;
      const float* u = pass_.unary(t);
      if (u == nullptr || (t > 0 && !pair_factors(t))) return false;
      if (has_vanished_) continue;
      const auto max = static_cast<double>(*std::max_element(u, u + n));
      pass_.kernels.exp_shifted(u, n, max, e);
      SumLeast c{0, 1};
      if (t == 0) {
        std::copy_n(e, stride, alpha);
        for (size_t k = 0; k < n; ++k) c = {c.sum + e[k], std::min(c.least, e[k])};
      } else {
        c = pass_.kernels.scaled_product(n, alpha - stride, pass_.pair_factor, e, alpha);
        log_z_ += pair_max_;
      }
      has_vanished_ = !(c.sum >= kSmall);
      is_narrow_ = is_narrow_ || c.least < kNarrow;
      pass_.scale[t] = c.sum;
      log_z_ += std::log(c.sum) + max;
      if (labels_ != nullptr) {
        log_prob_ += static_cast<double>(u[labels_[t]]) - max - std::log(c.sum);
        if (t > 0)
          log_prob_ += static_cast<double>(pass_.pair_score(t, labels_[t - 1], labels_[t])) - pair_max_;
      }
      for (size_t k = 0; k < stride; ++k) alpha[k] /= c.sum;
    }
    return true;
  }

  // Writes the marginals unless `out` is null; whether every beta is a number below kWide. beta_t is divided
  // by sum_k alpha_t(k) beta_t(k), which is 1 but for rounding.
  bool scaled_backward(double* out) {
    const size_t n = pass_.labels, stride = pass_.stride;
    double *beta = pass_.row[0], *g = pass_.row[1];
    bool is_good = true;
    for (size_t t = pass_.length; t-- > 0;) {
      if (t + 1 == pass_.length) {
        std::fill_n(beta, stride, 1.0);
      } else {
        pair_factors(t + 1);
        pass_.kernels.products(n, 1 / pass_.scale[t + 1], pass_.unary_factor + (t + 1) * stride, beta, g);
        pass_.kernels.dots(n, pass_.pair_factor, g, beta);
      }
      const double sum = pass_.kernels.products(n, 1, pass_.alpha + t * stride, beta, g);
      for (size_t k = 0; k < n; ++k) {
        beta[k] /= sum;
        is_good = is_good && beta[k] <= kWide;
        if (out != nullptr) out[t * n + k] = g[k] / sum;
      }
    }
    return is_good;
  }

  // x - max x; gives max x.
  static double take_off_largest(double* x, size_t n) {
    const double largest = *std::max_element(x, x + n);
    for (size_t k = 0; k < n; ++k) x[k] -= largest;
    return largest;
  }

  void log_forward() {
    const size_t n = pass_.labels;
    LogSumExp last;
    log_z_ = log_prob_ = 0;
    for (size_t t = 0; t < pass_.length; ++t) {
      double* a = pass_.alpha + t * n;
      const float* v = t > 0 ? pass_.pair(t) : nullptr;
      const float* u = pass_.unary(t);
      for (size_t k = 0; k < n; ++k) {
        LogSumExp before;
        for (size_t j = 0; t > 0 && j < n; ++j) before.add((a - n)[j] + static_cast<double>(v[j * n + k]));
        a[k] = static_cast<double>(u[k]) + (t > 0 ? before.value() : 0);
        if (labels_ == nullptr || t == 0 || k != labels_[t]) continue;
        const uint32_t j = labels_[t - 1];
        log_prob_ += before.log_share((a - n)[j] + static_cast<double>(v[j * n + k]));
      }
      log_z_ += take_off_largest(a, n);
      for (size_t k = 0; t + 1 == pass_.length && k < n; ++k) last.add(a[k]);
    }
    log_z_ += last.value();
    if (labels_ != nullptr)
      log_prob_ += last.log_share(pass_.alpha[(pass_.length - 1) * n + labels_[pass_.length - 1]]);
  }

  void log_backward(double* out) {
    const size_t n = pass_.labels;
    double *b = pass_.row[0], *g = pass_.row[1];
    std::fill_n(b, n, 0.0);
    for (size_t t = pass_.length; t-- > 0;) {
      if (t + 1 < pass_.length) {
        const float *v = pass_.pair(t + 1), *u = pass_.unary(t + 1);
        for (size_t k = 0; k < n; ++k) g[k] = static_cast<double>(u[k]) + b[k];
        take_off_largest(g, n);
        for (size_t j = 0; j < n; ++j) {
          LogSumExp sum;
          for (size_t k = 0; k < n; ++k) sum.add(static_cast<double>(v[j * n + k]) + g[k]);
          b[j] = sum.value();
        }
      }
      const double* a = pass_.alpha + t * n;
      LogSumExp all;
      for (size_t k = 0; k < n; ++k) all.add(a[k] + b[k]);
      for (size_t k = 0; k < n; ++k) out[t * n + k] = std::exp(a[k] + b[k] - all.max) / all.sum;
    }
  }

  CrfPass pass_;
  const uint32_t* labels_ = nullptr;
  double log_z_ = 0, log_prob_ = 0, pair_max_ = 0;
  bool holds_shared_ = false, has_vanished_ = false, is_narrow_ = false, is_log_ = false;
};

}  // namespace

double CrfScorer::log_normalizer(const selfnorm_sentence& x, void* memory) const {
  return CrfLattice(layout_, *kernels_, x, memory).forward();
}

double CrfScorer::exact_log_prob(const selfnorm_sentence& x, void* memory, const uint32_t* labels) const {
  CrfLattice lattice(layout_, *kernels_, x, memory);
  const double log_z = lattice.forward(labels);
  return std::isfinite(log_z) ? lattice.log_prob() : kNaN;
}

bool CrfScorer::marginals(const selfnorm_sentence& x, void* memory, double* out) const {
  CrfLattice lattice(layout_, *kernels_, x, memory);
  if (!std::isfinite(lattice.forward())) return false;
  lattice.marginals(out);
  return true;
}

}  // namespace selfnorm::runtime
