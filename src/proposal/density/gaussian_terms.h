// The terms c_k - |z_k|^2 / 2, z_k = W_k (x - m_k), of many Gaussians at four points. Results run over k, so
// that sums over k are vectors (Highway); k is padded to a multiple of 8 with terms that are -inf. Means and
// roots are kept in blocks of 8 components.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "math/random.h"
#include "proposal/density/precision_root.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

class GaussianTerms {
 public:
  // `mean` is K x d, row-major. Without `roots` every W_k is 1.
  GaussianTerms(uint32_t dimension, std::span<const double> constant, std::span<const double> mean,
                std::span<const PrecisionRoot> roots = {});

  uint32_t dimension() const { return dimension_; }
  size_t stride() const { return constant_.size(); }  // K, padded

  static constexpr size_t kPoints = 4;
  // x is 4 x d, z 4 x d x stride, term 4 x stride.
  void evaluate(const double* x, double* z, double* term) const;
  // -|W_k v|^2 / 2, the same without mean and constant.
  void evaluate_direction(const double* v, double* z, double* term) const;
  // z <- W_k' z_k, so that d term_k / dx = -z_k.
  void pull_back(double* z) const;

 private:
  uint32_t dimension_;
  std::vector<double> constant_;  // stride
  std::vector<double> mean_;      // blocks x d x 8
  std::vector<double> root_;      // blocks x d (d + 1) / 2 x 8, or empty
};

// c_k = log w_k + log det W_k - d/2 log 2 pi: the terms of a mixture.
GaussianTerms mixture_terms(std::span<const double> log_weight, std::span<const double> mean,
                            std::span<const PrecisionRoot> roots);

// f(x) = log sum_k exp(t_k(x)) of Gaussian terms and its derivatives in x, four points at a time; the memory
// of one thread. With shares p_k = exp(t_k - f) and g_k = -W_k' z_k:
//     grad f = sum_k p_k g_k
//     v' (Hessian f) v = sum_k p_k ((v . g_k - v . grad f)^2 - |W_k v|^2)
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

// Standard normal numbers in bulk: both of Box and Muller's pair, sqrt(-2 log u) (cos 2 pi v, sin 2 pi v),
// compiled for several instruction sets (math/kernels.h).
void fill_normals(RandomStream& random, std::span<double> out);

}  // namespace selfnorm
