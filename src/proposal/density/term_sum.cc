#include "selfnorm/proposal/density/term_sum.h"

#include <algorithm>

#include "selfnorm/math/kernels.h"

namespace selfnorm {

TermSum::TermSum(const GaussianTerms& terms)
    : terms_(terms), z_(terms.dimension() * terms.stride()), share_(terms.stride()) {}

double TermSum::value(const double* x) {
  terms_.evaluate(x, z_.data(), share_.data());
  const LogSumExp total = exp_in_place(share_.data(), share_.size());
  sum_ = total.sum;
  is_pulled_ = false;
  return total.value();
}

std::span<const double> TermSum::share() {
  if (sum_ != 1) scale(1 / sum_, share_.data(), share_.size());
  sum_ = 1;
  return share_;
}

std::span<const double> TermSum::pulled() {
  if (!is_pulled_) terms_.pull_back(z_.data(), z_.data());
  is_pulled_ = true;
  return z_;
}

void TermSum::gradient(double* out) {
  share();
  pulled();
  const size_t stride = terms_.stride();
  for (size_t j = 0; j < terms_.dimension(); ++j)
    out[j] = -dot(share_.data(), z_.data() + j * stride, stride);
}

TermSum::Directional TermSum::directional(const double* v) {
  share();
  pulled();
  const size_t stride = terms_.stride();
  along_.assign(stride, 0);  // v . g_k
  direction_.resize(z_.size());
  curvature_.resize(stride);
  for (size_t j = 0; j < terms_.dimension(); ++j)
    add_scaled(-v[j], z_.data() + j * stride, along_.data(), stride);
  terms_.evaluate_direction(v, direction_.data(), curvature_.data());
  Directional out;
  out.first = dot(share_.data(), along_.data(), stride);
  for (size_t k = 0; k < stride; ++k) {
    const double away = along_[k] - out.first;
    if (share_[k] > 0) out.second += share_[k] * (away * away + 2 * curvature_[k]);
  }
  return out;
}

}  // namespace selfnorm
