// f(x) = log sum_k exp(t_k(x)) of Gaussian terms and its derivatives in x, four points at a time; the memory
// of one thread. With shares p_k = exp(t_k - f) and g_k = -W_k' z_k:
//     grad f = sum_k p_k g_k
//     v' (Hessian f) v = sum_k p_k ((v . g_k - v . grad f)^2 - |W_k v|^2)
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "proposal/density/gaussian_terms.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

class TermSum {
 public:
  explicit TermSum(const GaussianTerms& terms);

  // fill(i, x) writes the point i of n; then body(i, r), where the functions below take r for that point.
  template <class Fill, class Body>
  void for_each(size_t n, const Fill& fill, const Body& body) {
    for (size_t i = 0; i < n; i += GaussianTerms::kPoints) {
      for (size_t r = 0; r < GaussianTerms::kPoints; ++r)
        fill(std::min(i + r, n - 1), x_.data() + r * terms_.dimension());
      evaluate();
      for (size_t r = 0; r < GaussianTerms::kPoints && i + r < n; ++r) body(i + r, r);
    }
  }

  double value(size_t r) const { return value_[r]; }
  std::span<const double> share(size_t r);       // p_k
  double z(size_t r, size_t j, size_t k) const;  // before the gradient is asked for
  void gradient(size_t r, double* out);

  struct Directional {
    double first = 0, second = 0;
  };
  Directional directional(size_t r, const double* v);

 private:
  void evaluate();
  void pull_back();

  const GaussianTerms& terms_;
  std::vector<double> x_, z_, share_;                  // of the four points
  std::vector<double> direction_, along_, curvature_;  // of one v, four times
  double value_[GaussianTerms::kPoints] = {}, sum_[GaussianTerms::kPoints] = {};
  bool is_pulled_ = false;
};

// log softmax: a_k - log sum_j exp(a_j).

inline std::vector<double> log_shares(std::span<const double> logit) {
  LogSumExp total;
  for (const double a : logit) total.add(a);
  std::vector<double> out;
  for (const double a : logit) out.push_back(a - total.value());
  return out;
}

}  // namespace selfnorm
