#include <gtest/gtest.h>

#include "math/random.h"
#include "math/vector.h"
#include "optim/lbfgs.h"

namespace selfnorm {
namespace {

using Vectors = std::vector<std::vector<double>>;

double product(const std::vector<double>& x, const std::vector<double>& y) {
  return inner_product(std::span<const double>(x), std::span<const double>(y));
}

// Nocedal & Wright, Algorithm 7.4, on vectors.
std::vector<double> two_loops(const Vectors& s, const Vectors& y, const std::vector<double>& g) {
  std::vector<double> q = g, a(s.size());
  const auto add = [&](double c, const std::vector<double>& v) {
    for (size_t k = 0; k < q.size(); ++k) q[k] += c * v[k];
  };
  for (size_t i = s.size(); i-- > 0;) {
    a[i] = product(s[i], q) / product(y[i], s[i]);
    add(-a[i], y[i]);
  }
  if (!s.empty()) {
    const double t = product(s.back(), y.back()) / product(y.back(), y.back());
    for (double& v : q) v *= t;
  }
  for (size_t i = 0; i < s.size(); ++i) add(a[i] - product(y[i], q) / product(y[i], s[i]), s[i]);
  for (double& v : q) v = -v;
  return q;
}

// Pairs come and go as in a run: remembered products must stay those of the pairs, and a fresh object (a
// resumed run) must give the same bits.
TEST(InverseHessian, IsTheTwoLoopRecursion) {
  constexpr size_t kSize = 70'000, kHistory = 4;
  RandomStream random(3);
  const auto draw = [&] {
    std::vector<double> v(kSize);
    for (double& x : v) x = random.normal();
    return v;
  };
  Vectors s, y;
  std::vector<double> rho;
  InverseHessian<double> hessian;
  for (int iteration = 0; iteration < 9; ++iteration) {
    const std::vector<double> g = draw(), expected = two_loops(s, y, g);
    std::vector<double> found(kSize), fresh(kSize);
    hessian.direction(s, y, rho, g, found);
    InverseHessian<double>().direction(s, y, rho, g, fresh);
    EXPECT_EQ(found, fresh);
    for (size_t k = 0; k < kSize; ++k) ASSERT_NEAR(found[k], expected[k], 1e-9) << iteration;
    if (s.size() == kHistory) {
      s.erase(s.begin());
      y.erase(y.begin());
      rho.erase(rho.begin());
      hessian.forget_oldest();
    }
    s.push_back(draw());
    y.push_back(draw());
    for (size_t k = 0; k < kSize; ++k) y.back()[k] = 0.5 * y.back()[k] + 2 * s.back()[k];
    rho.push_back(1 / product(s.back(), y.back()));
  }
}

}  // namespace
}  // namespace selfnorm
