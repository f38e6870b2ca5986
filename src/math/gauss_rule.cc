#include "math/gauss_rule.h"

#include <boost/math/special_functions/legendre.hpp>
#include <boost/math/special_functions/legendre_stieltjes.hpp>

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

}  // namespace selfnorm
