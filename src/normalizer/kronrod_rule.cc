#include "selfnorm/normalizer/kronrod_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cubature.h"
#include "selfnorm/base/range.h"

namespace selfnorm {
namespace {

// P_0(z) .. P_n(z).
std::vector<double> legendre(uint32_t n, double z) {
  std::vector<double> p(n + 2, 1);
  p[1] = z;
  for (uint32_t k = 1; k < n; ++k) p[k + 1] = ((2.0 * k + 1) * z * p[k] - k * p[k - 1]) / (k + 1.0);
  return p;
}

// a_0 .. a_{n+1} of E in the Legendre polynomials. The integral of P_n P_i P_k vanishes for i < n - k, so
// the k-th condition gives a_{n-k}.
std::vector<double> stieltjes(uint32_t n) {
  const CubatureRule exact(1, 2 * n + 2);
  std::vector<std::vector<double>> p;
  for (size_t q = 0; q < exact.size(); ++q) p.push_back(legendre(n + 1, 2 * exact.node[q] - 1));
  const auto product = [&](uint32_t i, uint32_t k) {
    double sum = 0;
    for (size_t q = 0; q < exact.size(); ++q)
      sum += std::exp(exact.log_weight[q]) * p[q][n] * p[q][i] * p[q][k];
    return sum;
  };
  std::vector<double> a(n + 2, 0);
  a[n + 1] = 1;
  for (uint32_t k = 0; k <= n; ++k) {
    double sum = 0;
    for (uint32_t i = n - k + 1; i <= n + 1; ++i) sum += a[i] * product(i, k);
    a[n - k] = -sum / product(n - k, k);
  }
  return a;
}

// The root of E between `from` and `to`, where it changes its sign.
double root(const std::vector<double>& a, double from, double to) {
  const auto value = [&](double t) {
    const std::vector<double> p = legendre(static_cast<uint32_t>(a.size() - 1), 2 * t - 1);
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * p[i];
    return sum;
  };
  const bool is_positive = value(from) > 0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = from / 2 + to / 2;
    ((value(middle) > 0) == is_positive ? from : to) = middle;
  }
  return from / 2 + to / 2;
}

}  // namespace

void KronrodRule::lagrange(double t, std::span<double> l) const {
  for (size_t j = 0; j < size(); ++j) {
    l[j] = 1;
    for (size_t i = 0; i < size(); ++i)
      if (i != j) l[j] *= (t - node[i]) / (node[j] - node[i]);
  }
}

double KronrodRule::roughness(std::span<const double> f) const {
  double sum = 0;
  for (auto row = high.begin(); row != high.end(); row += static_cast<std::ptrdiff_t>(f.size()))
    sum += std::abs(std::inner_product(f.begin(), f.end(), row, 0.0));
  return sum;
}

KronrodRule::KronrodRule(uint32_t gauss_points) {
  require_range(gauss_points >= 1 && gauss_points <= 20, "Kronrod rule: points", gauss_points, "1 .. 20");
  const CubatureRule gauss(1, gauss_points);
  const std::vector<double> a = stieltjes(gauss_points);
  for (uint32_t k = 0; k <= gauss_points; ++k) {
    node.push_back(root(a, k == 0 ? 0 : gauss.node[k - 1], k == gauss_points ? 1 : gauss.node[k]));
    gauss_weight.push_back(0);
    if (k == gauss_points) break;
    node.push_back(gauss.node[k]);
    gauss_weight.push_back(std::exp(gauss.log_weight[k]));
  }
  const size_t n = size();
  const CubatureRule exact(1, gauss_points + 1);
  std::vector<double> l(n);
  const auto integrate = [&](double to, double* out) {
    for (size_t q = 0; q < exact.size(); ++q) {
      lagrange(to * exact.node[q], l);
      for (size_t j = 0; j < n; ++j) out[j] += to * std::exp(exact.log_weight[q]) * l[j];
    }
  };
  weight.assign(n, 0);
  integrate(1, weight.data());
  cumulative.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) integrate(node[i], &cumulative[i * n]);

  const CubatureRule products(1, static_cast<uint32_t>(n));
  const size_t coefficients = (n + 1) / 4;
  high.assign(coefficients * n, 0);
  for (size_t q = 0; q < products.size(); ++q) {
    lagrange(products.node[q], l);
    const std::vector<double> p = legendre(static_cast<uint32_t>(n), 2 * products.node[q] - 1);
    for (size_t c = 0; c < coefficients; ++c) {
      const size_t k = n - coefficients + c;
      const double factor = static_cast<double>(2 * k + 1) * std::exp(products.log_weight[q]) * p[k];
      for (size_t j = 0; j < n; ++j) high[c * n + j] += factor * l[j];
    }
  }
}

}  // namespace selfnorm
