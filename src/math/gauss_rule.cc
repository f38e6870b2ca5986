#include "math/gauss_rule.h"

#include <boost/math/special_functions/legendre.hpp>
#include <boost/math/special_functions/legendre_stieltjes.hpp>
#include <cmath>
#include <numeric>

#include "base/failure.h"

namespace selfnorm {
namespace {

// In long double, so that what is rounded to double is right to its last digit or nearly so.
using Real = long double;

// All roots of an even or odd function, ascending, from those that are not negative.
std::vector<Real> mirrored(const std::vector<Real>& half) {
  std::vector<Real> out;
  for (auto z = half.rbegin(); z != half.rend(); ++z)
    if (*z > 0) out.push_back(-*z);
  out.insert(out.end(), half.begin(), half.end());
  return out;
}

}  // namespace

double legendre(uint32_t n, double z) { return boost::math::legendre_p(static_cast<int>(n), z); }

GaussRule::GaussRule(uint32_t n) {
  const auto order = static_cast<int>(n);
  for (const Real z : mirrored(boost::math::legendre_p_zeros<Real>(order))) {
    const Real slope = boost::math::legendre_p_prime(order, z);
    node.push_back(static_cast<double>((1 + z) / 2));
    weight.push_back(static_cast<double>(1 / ((1 - z * z) * slope * slope)));
  }
}

std::vector<double> kronrod_nodes(uint32_t n) {
  std::vector<double> out;
  for (const Real z : mirrored(boost::math::legendre_stieltjes<Real>(n + 1).zeros()))
    out.push_back(static_cast<double>((1 + z) / 2));
  return out;
}

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
  const GaussRule gauss(gauss_points);
  for (const double added : kronrod_nodes(gauss_points)) {
    node.push_back(added);
    gauss_weight.push_back(0);
    const size_t k = node.size() / 2;
    if (k == gauss_points) break;
    node.push_back(gauss.node[k]);
    gauss_weight.push_back(gauss.weight[k]);
  }
  const size_t n = size();
  const GaussRule exact(gauss_points + 1);
  std::vector<double> l(n);
  const auto integrate = [&](double to, double* out) {
    for (size_t q = 0; q < exact.size(); ++q) {
      lagrange(to * exact.node[q], l);
      for (size_t j = 0; j < n; ++j) out[j] += to * exact.weight[q] * l[j];
    }
  };
  weight.assign(n, 0);
  integrate(1, weight.data());
  cumulative.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) integrate(node[i], &cumulative[i * n]);

  const GaussRule products(static_cast<uint32_t>(n));
  const size_t coefficients = (n + 1) / 4;
  high.assign(coefficients * n, 0);
  for (size_t q = 0; q < products.size(); ++q) {
    lagrange(products.node[q], l);
    for (size_t c = 0; c < coefficients; ++c) {
      const size_t k = n - coefficients + c;
      const double p = legendre(static_cast<uint32_t>(k), 2 * products.node[q] - 1);
      const double factor = static_cast<double>(2 * k + 1) * products.weight[q] * p;
      for (size_t j = 0; j < n; ++j) high[c * n + j] += factor * l[j];
    }
  }
}

}  // namespace selfnorm
