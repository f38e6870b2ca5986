#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/proposal/density/gaussian_terms.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>
#include <numbers>

#include "math/kernels.h"
#include "proposal/density/gaussian_terms.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = 8;

// At four points at once, which share every reading of W: z_i = sum_{j<=i} W_ij (x_j - m_j), from the last
// row up, over the differences stored in its place. A null array is 0 (constant, mean) or 1 (root).
void gaussian_terms(size_t dimension, size_t stride, const double* const* arrays, const double* x,
                    double* HWY_RESTRICT z, double* HWY_RESTRICT term) {
  const double *constant = arrays[0], *mean = arrays[1], *root = arrays[2];
  const hn::CappedTag<double, kLanes> d;
  const auto half = hn::Set(d, 0.5);
  const size_t next = dimension * stride;  // from a point's z to the next one's
  for (size_t k = 0; k < stride; k += hn::Lanes(d)) {
    const size_t block = k / kLanes, lane = k % kLanes;
    auto q0 = hn::Zero(d);
    auto q1 = q0;
    auto q2 = q0;
    auto q3 = q0;
    for (size_t j = 0; j < dimension; ++j) {
      const auto m =
          mean == nullptr ? hn::Zero(d) : hn::LoadU(d, mean + (block * dimension + j) * kLanes + lane);
      double* at = z + j * stride + k;
      const auto d0 = hn::Sub(hn::Set(d, x[j]), m);
      const auto d1 = hn::Sub(hn::Set(d, x[dimension + j]), m);
      const auto d2 = hn::Sub(hn::Set(d, x[2 * dimension + j]), m);
      const auto d3 = hn::Sub(hn::Set(d, x[3 * dimension + j]), m);
      hn::StoreU(d0, d, at);
      hn::StoreU(d1, d, at + next);
      hn::StoreU(d2, d, at + 2 * next);
      hn::StoreU(d3, d, at + 3 * next);
      if (root != nullptr) continue;
      q0 = hn::MulAdd(d0, d0, q0);
      q1 = hn::MulAdd(d1, d1, q1);
      q2 = hn::MulAdd(d2, d2, q2);
      q3 = hn::MulAdd(d3, d3, q3);
    }
    const size_t triangle = dimension * (dimension + 1) / 2;
    for (size_t i = root == nullptr ? 0 : dimension; i-- > 0;) {
      const double* row = root + (block * triangle + i * (i + 1) / 2) * kLanes + lane;
      auto s0 = hn::Zero(d);
      auto s1 = s0;
      auto s2 = s0;
      auto s3 = s0;
      for (size_t j = 0; j <= i; ++j) {
        const auto w = hn::LoadU(d, row + j * kLanes);
        const double* at = z + j * stride + k;
        s0 = hn::MulAdd(w, hn::LoadU(d, at), s0);
        s1 = hn::MulAdd(w, hn::LoadU(d, at + next), s1);
        s2 = hn::MulAdd(w, hn::LoadU(d, at + 2 * next), s2);
        s3 = hn::MulAdd(w, hn::LoadU(d, at + 3 * next), s3);
      }
      double* at = z + i * stride + k;
      hn::StoreU(s0, d, at);
      hn::StoreU(s1, d, at + next);
      hn::StoreU(s2, d, at + 2 * next);
      hn::StoreU(s3, d, at + 3 * next);
      q0 = hn::MulAdd(s0, s0, q0);
      q1 = hn::MulAdd(s1, s1, q1);
      q2 = hn::MulAdd(s2, s2, q2);
      q3 = hn::MulAdd(s3, s3, q3);
    }
    const auto add = constant == nullptr ? hn::Zero(d) : hn::LoadU(d, constant + k);
    hn::StoreU(hn::NegMulAdd(half, q0, add), d, term + k);
    hn::StoreU(hn::NegMulAdd(half, q1, add), d, term + stride + k);
    hn::StoreU(hn::NegMulAdd(half, q2, add), d, term + 2 * stride + k);
    hn::StoreU(hn::NegMulAdd(half, q3, add), d, term + 3 * stride + k);
  }
}

// In place, from the first row down: (W'z)_j needs z_i of i >= j only.
void pulled_terms(size_t dimension, size_t stride, const double* root, double* z) {
  const hn::CappedTag<double, kLanes> d;
  const size_t next = dimension * stride, triangle = dimension * (dimension + 1) / 2;
  for (size_t k = 0; k < stride; k += hn::Lanes(d)) {
    const double* own = root + k / kLanes * triangle * kLanes + k % kLanes;
    for (size_t j = 0; j < dimension; ++j) {
      auto s0 = hn::Zero(d);
      auto s1 = s0;
      auto s2 = s0;
      auto s3 = s0;
      for (size_t i = j; i < dimension; ++i) {
        const auto w = hn::LoadU(d, own + (i * (i + 1) / 2 + j) * kLanes);
        const double* at = z + i * stride + k;
        s0 = hn::MulAdd(w, hn::LoadU(d, at), s0);
        s1 = hn::MulAdd(w, hn::LoadU(d, at + next), s1);
        s2 = hn::MulAdd(w, hn::LoadU(d, at + 2 * next), s2);
        s3 = hn::MulAdd(w, hn::LoadU(d, at + 3 * next), s3);
      }
      double* at = z + j * stride + k;
      hn::StoreU(s0, d, at);
      hn::StoreU(s1, d, at + next);
      hn::StoreU(s2, d, at + 2 * next);
      hn::StoreU(s3, d, at + 3 * next);
    }
  }
}

// u in (0, 1] and v in [0, 1) become the two normals. n is a multiple of 8.
void box_muller(double* HWY_RESTRICT u, double* HWY_RESTRICT v, size_t n) {
  const hn::CappedTag<double, 8> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, hn::LoadU(d, u + i))));
    const auto angle = hn::Mul(hn::Set(d, 2 * std::numbers::pi), hn::LoadU(d, v + i));
    hn::StoreU(hn::Mul(radius, hn::Cos(d, angle)), d, u + i);
    hn::StoreU(hn::Mul(radius, hn::Sin(d, angle)), d, v + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

namespace selfnorm {

HWY_EXPORT(gaussian_terms);
HWY_EXPORT(pulled_terms);
HWY_EXPORT(box_muller);

GaussianTerms::GaussianTerms(uint32_t dimension, std::span<const double> constant,
                             std::span<const double> mean, std::span<const PrecisionRoot> roots)
    : dimension_(dimension) {
  constexpr size_t kLanes = 8;
  const size_t components = constant.size(), stride = (components + kLanes - 1) / kLanes * kLanes;
  constant_.assign(constant.begin(), constant.end());
  constant_.resize(stride, -std::numeric_limits<double>::infinity());
  // Entry e of `entries` for component k.
  const auto place = [](size_t k, size_t e, size_t entries) {
    return (k / kLanes * entries + e) * kLanes + k % kLanes;
  };
  mean_.assign(dimension * stride, 0);
  for (size_t k = 0; k < components; ++k)
    for (size_t j = 0; j < dimension; ++j) mean_[place(k, j, dimension)] = mean[k * dimension + j];
  if (roots.empty()) return;
  const size_t triangle = PrecisionRoot::size(PrecisionRoot::Shape::full, dimension);
  root_.assign(triangle * stride, 0);
  for (size_t k = 0; k < components; ++k)
    for (uint32_t i = 0, e = 0; i < dimension; ++i)
      for (uint32_t j = 0; j <= i; ++j, ++e) root_[place(k, e, triangle)] = roots[k].at(i, j);
}

void GaussianTerms::evaluate(const double* x, double* z, double* term) const {
  const double* const arrays[] = {constant_.data(), mean_.data(), root_.empty() ? nullptr : root_.data()};
  HWY_DYNAMIC_DISPATCH(gaussian_terms)(dimension_, stride(), arrays, x, z, term);
}

void GaussianTerms::evaluate_direction(const double* v, double* z, double* term) const {
  const double* const arrays[] = {nullptr, nullptr, root_.empty() ? nullptr : root_.data()};
  HWY_DYNAMIC_DISPATCH(gaussian_terms)(dimension_, stride(), arrays, v, z, term);
}

void GaussianTerms::pull_back(double* z) const {
  if (!root_.empty()) HWY_DYNAMIC_DISPATCH(pulled_terms)(dimension_, stride(), root_.data(), z);
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

constexpr size_t kPoints = GaussianTerms::kPoints;

TermSum::TermSum(const GaussianTerms& terms)
    : terms_(terms),
      x_(kPoints * terms.dimension()),
      z_(kPoints * terms.dimension() * terms.stride()),
      share_(kPoints * terms.stride()) {}

void TermSum::evaluate() {
  terms_.evaluate(x_.data(), z_.data(), share_.data());
  is_pulled_ = false;
  for (size_t r = 0; r < kPoints; ++r) {
    const LogSumExp total = exp_in_place(share_.data() + r * terms_.stride(), terms_.stride());
    value_[r] = total.value();
    sum_[r] = total.sum;
  }
}

void TermSum::pull_back() {
  if (!is_pulled_) terms_.pull_back(z_.data());
  is_pulled_ = true;
}

std::span<const double> TermSum::share(size_t r) {
  const std::span<double> out = std::span(share_).subspan(r * terms_.stride(), terms_.stride());
  if (sum_[r] != 1) scale(1 / sum_[r], out.data(), out.size());
  sum_[r] = 1;
  return out;
}

double TermSum::z(size_t r, size_t j, size_t k) const {
  return z_[(r * terms_.dimension() + j) * terms_.stride() + k];
}

void TermSum::gradient(size_t r, double* out) {
  const size_t stride = terms_.stride(), d = terms_.dimension();
  const double* p = share(r).data();
  pull_back();
  for (size_t j = 0; j < d; ++j) out[j] = -dot(p, z_.data() + (r * d + j) * stride, stride);
}

TermSum::Directional TermSum::directional(size_t r, const double* v) {
  const size_t stride = terms_.stride(), d = terms_.dimension();
  const std::span<const double> p = share(r);
  pull_back();
  std::vector<double> four;
  for (size_t copy = 0; copy < kPoints; ++copy) four.insert(four.end(), v, v + d);
  direction_.resize(z_.size());
  curvature_.resize(kPoints * stride);
  terms_.evaluate_direction(four.data(), direction_.data(), curvature_.data());
  along_.assign(stride, 0);  // v . g_k
  for (size_t j = 0; j < d; ++j) add_scaled(-v[j], z_.data() + (r * d + j) * stride, along_.data(), stride);
  Directional out;
  out.first = dot(p.data(), along_.data(), stride);
  for (size_t k = 0; k < stride; ++k) {
    const double away = along_[k] - out.first;
    if (p[k] > 0) out.second += p[k] * (away * away + 2 * curvature_[k]);
  }
  return out;
}

void fill_normals(RandomStream& random, std::span<double> out) {
  constexpr size_t kPairs = 64;
  double pair[2 * kPairs];
  for (size_t begin = 0; begin < out.size(); begin += 2 * kPairs) {
    const size_t n = std::min(2 * kPairs, out.size() - begin), half = ((n + 1) / 2 + 7) / 8 * 8;
    for (size_t i = 0; i < half; ++i) {
      pair[i] = 1 - random.uniform();
      pair[half + i] = random.uniform();
    }
    HWY_DYNAMIC_DISPATCH(box_muller)(pair, pair + half, half);
    std::copy(pair, pair + n, out.begin() + static_cast<ptrdiff_t>(begin));
  }
}

}  // namespace selfnorm
#endif
