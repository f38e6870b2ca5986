// The terms c_k - |z_k|^2 / 2, z_k = W_k (x - m_k), of many Gaussians at four points. Results run over k, so
// that sums over k are vectors (Highway); k is padded to a multiple of 8 with terms that are -inf. Means and
// roots are kept in blocks of 8 components.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proposal/density/precision_root.h"

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

}  // namespace selfnorm
