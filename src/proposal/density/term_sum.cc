#include "proposal/density/term_sum.h"

#include "math/kernels.h"

namespace selfnorm {

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

}  // namespace selfnorm
