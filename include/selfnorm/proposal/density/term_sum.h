// f(x) = log sum_k exp(t_k(x)) of Gaussian terms and its derivatives in x, one point at a time; the memory of
// one thread. With shares p_k = exp(t_k - f) and g_k = -W_k' z_k:
//     grad f = sum_k p_k g_k
//     v' (Hessian f) v = sum_k p_k ((v . g_k - v . grad f)^2 - |W_k v|^2)
#pragma once

#include "selfnorm/proposal/density/gaussian_terms.h"

namespace selfnorm {

class TermSum {
 public:
  explicit TermSum(const GaussianTerms& terms);

  double value(const double* x);  // f(x); what follows is at this x
  std::span<const double> share();
  std::span<const double> pulled();  // W_k' z_k, d x stride; after it z is gone
  std::span<const double> z() const { return z_; }
  void gradient(double* out);

  struct Directional {
    double first = 0, second = 0;
  };
  Directional directional(const double* v);

 private:
  const GaussianTerms& terms_;
  std::vector<double> z_, share_, along_, direction_, curvature_;
  double sum_ = 1;  // of share_, before it is divided by it
  bool is_pulled_ = false;
};

}  // namespace selfnorm
