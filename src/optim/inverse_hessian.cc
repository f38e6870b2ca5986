#include <algorithm>

#include "math/vector.h"
#include "optim/lbfgs.h"
#include "selfnorm/error.h"

namespace selfnorm {

template <class Real>
void InverseHessian<Real>::forget() {
  sy_.clear();
  yy_.clear();
}

template <class Real>
void InverseHessian<Real>::forget_oldest() {
  for (auto* products : {&sy_, &yy_}) {
    if (products->empty()) continue;
    products->erase(products->begin());
    for (auto& row : *products) row.erase(row.begin());
  }
}

template <class Real>
void InverseHessian<Real>::direction(const Vectors& s, const Vectors& y, std::span<const double> rho,
                                     std::span<const Real> g, std::span<Real> out) {
  const size_t m = s.size();
  SELFNORM_CHECK(y.size() == m && rho.size() == m && sy_.size() <= m);
  std::vector<const Real*> vectors;
  for (const auto& v : s) vectors.push_back(v.data());
  for (const auto& v : y) vectors.push_back(v.data());

  std::vector<ProductPair> with_g;
  const auto remember = [&](size_t j) {
    with_g = inner_products<Real>(vectors, g, y[j]);
    auto& sy = sy_.emplace_back();
    auto& yy = yy_.emplace_back();
    for (size_t i = 0; i <= j; ++i) {
      sy.push_back(with_g[i].b);
      yy.push_back(with_g[m + i].b);
    }
  };
  if (m > 0 && sy_.size() == m) with_g = inner_products<Real>(vectors, g, y[m - 1]);
  while (sy_.size() < m) remember(sy_.size());

  const double t = m > 0 ? 1 / (rho[m - 1] * yy_[m - 1][m - 1]) : 1;
  std::vector<double> a(m), s_share(m), coefficients(2 * m + 1);
  for (size_t i = m; i-- > 0;) {
    double product = with_g[i].a;
    for (size_t j = i + 1; j < m; ++j) product -= a[j] * sy_[j][i];
    a[i] = rho[i] * product;
  }
  for (size_t i = 0; i < m; ++i) {
    double product = with_g[m + i].a;
    for (size_t j = 0; j < m; ++j) product -= a[j] * yy_[std::max(i, j)][std::min(i, j)];
    product *= t;
    for (size_t j = 0; j < i; ++j) product += s_share[j] * sy_[i][j];
    s_share[i] = a[i] - rho[i] * product;
    coefficients[i] = -s_share[i];
    coefficients[m + i] = t * a[i];
  }
  coefficients[2 * m] = -t;
  vectors.push_back(g.data());
  combine<Real>(coefficients, vectors, out);
}

template class InverseHessian<float>;
template class InverseHessian<double>;

}  // namespace selfnorm
