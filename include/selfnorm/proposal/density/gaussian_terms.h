// The terms c_k - |z_k|^2 / 2, z_k = W_k (x - m_k), of many Gaussians at one x. Arrays run over k first, so
// that the loops over k are vectors (Highway); k is padded to a multiple of 8 with terms that are -inf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "selfnorm/proposal/density/precision_root.h"

namespace selfnorm {

class GaussianTerms {
 public:
  // `mean` is K x d, row-major. Without `roots` every W_k is 1.
  GaussianTerms(uint32_t dimension, std::span<const double> constant, std::span<const double> mean,
                std::span<const PrecisionRoot> roots = {});

  uint32_t dimension() const { return dimension_; }
  size_t stride() const { return constant_.size(); }  // K, padded

  // The terms at x, and z (d x stride).
  void evaluate(const double* x, double* z, double* term) const;
  // -|W_k v|^2 / 2, the same without mean and constant.
  void evaluate_direction(const double* v, double* z, double* term) const;
  // pulled_jk = (W_k' z_k)_j, so d term_k / dx = -pulled_k; `z` may be `pulled`.
  void pull_back(const double* z, double* pulled) const;

 private:
  uint32_t dimension_;
  std::vector<double> constant_;  // stride
  std::vector<double> mean_;      // d x stride
  std::vector<double> root_;      // d (d + 1) / 2 x stride, or empty
};

// c_k = log w_k + log det W_k - d/2 log 2 pi: the terms of a mixture.
GaussianTerms mixture_terms(std::span<const double> log_weight, std::span<const double> mean,
                            std::span<const PrecisionRoot> roots);

}  // namespace selfnorm
