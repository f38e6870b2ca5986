#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/proposal/density/gaussian_terms.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <limits>

#include "selfnorm/proposal/density/gaussian_terms.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// z_i = sum_{j<=i} W_ij (x_j - m_j), from the last row up, over the differences stored in its place. A null
// array is 0 (constant, mean) or 1 (root).
void gaussian_terms(size_t dimension, size_t stride, const double* const* arrays, const double* x,
                    double* HWY_RESTRICT z, double* HWY_RESTRICT term) {
  const double *constant = arrays[0], *mean = arrays[1], *root = arrays[2];
  const hn::CappedTag<double, 8> d;
  const auto half = hn::Set(d, 0.5);
  for (size_t k = 0; k < stride; k += hn::Lanes(d)) {
    auto square = hn::Zero(d);
    for (size_t j = 0; j < dimension; ++j) {
      auto delta = hn::Set(d, x[j]);
      if (mean != nullptr) delta = hn::Sub(delta, hn::LoadU(d, mean + j * stride + k));
      hn::StoreU(delta, d, z + j * stride + k);
      if (root == nullptr) square = hn::MulAdd(delta, delta, square);
    }
    for (size_t i = root == nullptr ? 0 : dimension; i-- > 0;) {
      const double* row = root + i * (i + 1) / 2 * stride + k;
      auto sum = hn::Zero(d);
      for (size_t j = 0; j <= i; ++j)
        sum = hn::MulAdd(hn::LoadU(d, row + j * stride), hn::LoadU(d, z + j * stride + k), sum);
      hn::StoreU(sum, d, z + i * stride + k);
      square = hn::MulAdd(sum, sum, square);
    }
    const auto add = constant == nullptr ? hn::Zero(d) : hn::LoadU(d, constant + k);
    hn::StoreU(hn::NegMulAdd(half, square, add), d, term + k);
  }
}

// From the first row down: (W'z)_j needs z_i of i >= j only.
void pulled_terms(size_t dimension, size_t stride, const double* root, const double* z, double* pulled) {
  const hn::CappedTag<double, 8> d;
  for (size_t k = 0; k < stride; k += hn::Lanes(d)) {
    for (size_t j = 0; j < dimension; ++j) {
      auto sum = hn::Zero(d);
      for (size_t i = j; i < dimension; ++i)
        sum = hn::MulAdd(hn::LoadU(d, root + (i * (i + 1) / 2 + j) * stride + k),
                         hn::LoadU(d, z + i * stride + k), sum);
      hn::StoreU(sum, d, pulled + j * stride + k);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <numbers>

namespace selfnorm {

HWY_EXPORT(gaussian_terms);
HWY_EXPORT(pulled_terms);

GaussianTerms::GaussianTerms(uint32_t dimension, std::span<const double> constant,
                             std::span<const double> mean, std::span<const PrecisionRoot> roots)
    : dimension_(dimension) {
  const size_t components = constant.size(), stride = (components + 7) / 8 * 8;
  constant_.assign(constant.begin(), constant.end());
  constant_.resize(stride, -std::numeric_limits<double>::infinity());
  mean_.assign(dimension * stride, 0);
  for (size_t k = 0; k < components; ++k)
    for (size_t j = 0; j < dimension; ++j) mean_[j * stride + k] = mean[k * dimension + j];
  if (roots.empty()) return;
  root_.assign(PrecisionRoot::size(PrecisionRoot::Shape::full, dimension) * stride, 0);
  for (size_t k = 0; k < components; ++k)
    for (uint32_t i = 0, place = 0; i < dimension; ++i)
      for (uint32_t j = 0; j <= i; ++j, ++place) root_[place * stride + k] = roots[k].at(i, j);
}

void GaussianTerms::evaluate(const double* x, double* z, double* term) const {
  const double* const arrays[] = {constant_.data(), mean_.data(), root_.empty() ? nullptr : root_.data()};
  HWY_DYNAMIC_DISPATCH(gaussian_terms)(dimension_, stride(), arrays, x, z, term);
}

void GaussianTerms::evaluate_direction(const double* v, double* z, double* term) const {
  const double* const arrays[] = {nullptr, nullptr, root_.empty() ? nullptr : root_.data()};
  HWY_DYNAMIC_DISPATCH(gaussian_terms)(dimension_, stride(), arrays, v, z, term);
}

void GaussianTerms::pull_back(const double* z, double* pulled) const {
  if (!root_.empty()) {
    HWY_DYNAMIC_DISPATCH(pulled_terms)(dimension_, stride(), root_.data(), z, pulled);
  } else if (z != pulled) {
    std::copy(z, z + dimension_ * stride(), pulled);
  }
}

GaussianTerms mixture_terms(std::span<const double> log_weight, std::span<const double> mean,
                            std::span<const PrecisionRoot> roots) {
  const uint32_t dimension = roots.front().dimension();
  const double volume = 0.5 * static_cast<double>(dimension) * std::log(2 * std::numbers::pi);
  std::vector<double> constant;
  for (size_t k = 0; k < roots.size(); ++k)
    constant.push_back(log_weight[k] + roots[k].log_determinant() - volume);
  return {dimension, constant, mean, roots};
}

}  // namespace selfnorm
#endif
