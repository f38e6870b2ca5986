#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "family/density/exponential/exponential_fit.h"

namespace selfnorm {
namespace {

FamilyAxis axis_over(double lower, double upper, const std::vector<double>& data) {
  FamilyAxis axis(lower, upper);
  for (const double x : data) axis.add(x);
  return axis;
}

template <class Function>
double integral(const QuadratureNodes& nodes, const Function& f) {
  double sum = 0;
  for (size_t i = 0; i < nodes.log_weight.size(); ++i)
    sum += std::exp(nodes.log_weight[i]) * f(static_cast<double>(nodes.x[i]));
  return sum;
}

TEST(FamilyAxis, ExtentOfItsColumn) {
  const FamilyAxis axis = axis_over(-INFINITY, 10, {1, 3, 5, 7});
  EXPECT_EQ(axis.mean(), 4);
  EXPECT_NEAR(axis.scale(), std::sqrt(5.0), 1e-14);
  EXPECT_GT(axis_over(0, 1, {0.5, 0.5}).scale(), 0);
  EXPECT_GT(axis_over(0, 1, {0, 0}).scale(), 0);
}

TEST(FamilyAxis, LinesAndBoxesAreCutWhereTheDataEnd) {
  const std::vector<double> data{-1, 1};
  const auto line = axis_over(-INFINITY, INFINITY, data).segment({});
  EXPECT_EQ(line.lower, -13);
  EXPECT_EQ(line.upper, 13);
  const auto box = axis_over(-2, 1000, data).segment({});
  EXPECT_EQ(box.lower, -2);
  EXPECT_EQ(box.upper, 13);
}

TEST(FamilyAxis, HalfLinesFromTheSmallestOrFromTheirEnd) {
  const FamilyAxis axis = axis_over(2, INFINITY, {3, 4, 6});
  const double least = axis.segment({10, 0}).lower, deep = axis.segment({10, 36}).lower;
  EXPECT_NEAR(least, -10 * std::log(2.0) * std::sqrt(2.0 / 3),
              1e-12);  // logs of the distances: 0, 1, 2 log 2
  EXPECT_NEAR(deep, std::log(7.0 / 3) - 36, 1e-12);
  EXPECT_TRUE(axis.is_half_line());
  EXPECT_FALSE(axis_over(0, 1, {0.5}).is_half_line());
}

// Gamma(a) = integral of x^(a-1) e^-x over the half line, singular at its end for a < 1.
TEST(FamilyNodes, HalfLinesWithPowersAtTheirEnd) {
  for (const double a : {0.3, 1.0, 2.5}) {
    const std::vector<FamilyAxis> axes{axis_over(0, INFINITY, {1e-6, 0.01, 0.5, 1, 2})};
    const auto f = [a](double x) { return std::pow(x, a - 1) * std::exp(-x); };
    EXPECT_NEAR(integral(family_nodes(axes, {40, 36}, 128), f), std::tgamma(a), 2e-6) << a;
  }
  const std::vector<FamilyAxis> below{axis_over(-INFINITY, 3, {1, 2, 2.5, 3})};
  EXPECT_NEAR(integral(family_nodes(below, {40, 36}, 128), [](double x) { return std::exp(x - 3); }), 1,
              1e-6);
}

TEST(FamilyNodes, PlanesAreProducts) {
  const std::vector<double> data{-1, 1, 0, 0.5};
  const std::vector<FamilyAxis> axes{axis_over(-INFINITY, INFINITY, data), axis_over(0, 1, {0.2, 0.8})};
  const QuadratureNodes nodes = family_nodes(axes, {}, 32);
  double sum = 0;
  for (size_t i = 0; i < nodes.log_weight.size(); ++i) {
    const double x = nodes.x[2 * i], y = nodes.x[2 * i + 1];
    sum += std::exp(nodes.log_weight[i] - x * x / 2) * y;
  }
  EXPECT_NEAR(sum, std::sqrt(2 * std::numbers::pi) / 2, 1e-6);
}

}  // namespace
}  // namespace selfnorm
