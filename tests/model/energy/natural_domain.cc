#include "model/energy/natural_domain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

NaturalDomain domain_of(const std::vector<std::string>& names, const Support& support, uint32_t dimension) {
  std::vector<Statistic> all;
  for (const std::string& name : names)
    for (const Statistic& t : make_statistics(name, dimension)) all.push_back(t);
  return NaturalDomain(all, support, dimension);
}

const Support kHalfLine = Support::box({0}, {INFINITY});

TEST(NaturalDomain, FiniteBoxesTakeEverything) {
  const auto domain = domain_of({"x", "x2", "x4"}, Support::box({-1}, {1}), 1);
  EXPECT_EQ(domain.start(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(domain.violation(std::vector<double>{5, 5, 5}), "");
  EXPECT_NE(domain.violation(std::vector<double>{5, INFINITY, 5}), "");
}

TEST(NaturalDomain, TheLeadingStatisticDecides) {
  EXPECT_EQ(domain_of({"x", "x2"}, Support::reals(), 1).start(), (std::vector<double>{0, -0.5}));
  EXPECT_EQ(domain_of({"x2", "x4"}, Support::reals(), 1).start(), (std::vector<double>{0, -0.25}));
  EXPECT_EQ(domain_of({"x"}, kHalfLine, 1).start(), (std::vector<double>{-1}));
  EXPECT_EQ(domain_of({"x"}, Support::box({-INFINITY}, {0}), 1).start(), (std::vector<double>{1}));
  EXPECT_EQ(domain_of({"x2", "x4"}, Support::reals(), 1).violation(std::vector<double>{9, -1e-3}), "");
  EXPECT_EQ(domain_of({"x", "x3"}, kHalfLine, 1).violation(std::vector<double>{9, -1e-3}), "");
  EXPECT_NE(domain_of({"x", "x3"}, kHalfLine, 1).violation(std::vector<double>{-9, 1e-3}), "");
}

TEST(NaturalDomain, NothingDecays) {
  EXPECT_THROW(domain_of({"x"}, Support::reals(), 1), Error);
  EXPECT_THROW(domain_of({"x", "x3"}, Support::reals(), 1), Error);
  EXPECT_THROW(domain_of({"x", "xx"}, Support::reals(), 2), Error);
  EXPECT_THROW(domain_of({"log"}, kHalfLine, 1), Error);
  EXPECT_THROW(domain_of({"log", "x2"}, Support::box({-1}, {1}), 1), Error);
}

// The nearest positive definite matrix keeps what is positive.
TEST(NaturalDomain, ProjectsPrecisions) {
  const auto domain = domain_of({"x2", "xx"}, Support::reals(), 2);
  std::vector<double> eta = {-0.5, -0.5, -3};  // P = [[1, 3], [3, 1]], eigenvalues 4 and -2
  EXPECT_NE(domain.violation(eta), "");
  domain.project(eta);
  EXPECT_EQ(domain.violation(eta), "");
  EXPECT_NEAR(eta[0], -1, 1e-5);  // P = [[2, 2], [2, 2]], nearly
  EXPECT_NEAR(eta[1], -1, 1e-5);
  EXPECT_NEAR(eta[2], -2, 1e-5);
}

TEST(NaturalDomain, ProjectsCoefficients) {
  const auto gamma = domain_of({"log", "x"}, kHalfLine, 1);
  std::vector<double> eta = {-2, 1e20};
  gamma.project(eta);
  EXPECT_EQ(gamma.violation(eta), "");
  EXPECT_NEAR(eta[0], -1, 1e-5);
  EXPECT_NEAR(eta[1], 0, 1e-8);
  EXPECT_LT(eta[1], 0);
  std::vector<double> broken = {NAN, -1};
  gamma.project(broken);
  EXPECT_TRUE(std::isnan(broken[0]));
  EXPECT_NE(gamma.violation(broken), "");
}

}  // namespace
}  // namespace selfnorm
