#include <gtest/gtest.h>

#include <cmath>

#include "model/energy/natural_domain.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Statistic, Values) {
  const float x[] = {2, -3};
  const auto value = [&](const char* name, size_t k) { return make_statistics(name, 2)[k].value(x); };
  EXPECT_EQ(value("x", 1), -3);
  EXPECT_EQ(value("x2", 1), 9);
  EXPECT_EQ(value("x3", 1), -27);
  EXPECT_EQ(value("x4", 1), 81);
  EXPECT_EQ(value("abs", 1), 3);
  EXPECT_NEAR(value("log", 0), std::log(2), 1e-15);
  EXPECT_NEAR(value("cos", 1), std::cos(3), 1e-15);
  EXPECT_NEAR(value("sin", 1), -std::sin(3), 1e-15);
  EXPECT_EQ(value("xx", 0), -6);
}

// Along v: the value, and differences of it; the gradient is the derivative along the axes.
TEST(Statistic, JetsAndGradientsAreThoseOfTheValue) {
  const float x[] = {0.5f, 0.625f}, v[] = {0.75f, -0.5f}, h = 1.0f / 128;
  for (const std::string& name : statistic_names()) {
    for (const Statistic& t : make_statistics(name, 2)) {
      SCOPED_TRACE(name);
      const auto at = [&](float by) {
        const float y[] = {x[0] + by * v[0], x[1] + by * v[1]};
        return t.value(y);
      };
      const StatisticJet jet = t.along(x, v);
      const double step = h;
      EXPECT_EQ(jet.value, t.value(x));
      EXPECT_NEAR(jet.first, (at(h) - at(-h)) / (2 * step), 1e-3);
      EXPECT_NEAR(jet.second, (at(h) - 2 * at(0) + at(-h)) / (step * step), 1e-2);
      double dx[] = {0, 0};
      t.add_gradient(x, 2, dx);
      EXPECT_NEAR(dx[0] * static_cast<double>(v[0]) + dx[1] * static_cast<double>(v[1]), 2 * jet.first,
                  1e-12);
    }
  }
}

TEST(Statistic, EdgesAreFinite) {
  const float zero[] = {0}, one[] = {1};
  EXPECT_TRUE(std::isfinite(make_statistics("log", 1)[0].value(zero)));
  EXPECT_EQ(make_statistics("abs", 1)[0].along(zero, one).first, 0);
}

TEST(Statistic, PairsAreOrdered) {
  const auto pairs = make_statistics("xx", 4);
  ASSERT_EQ(pairs.size(), 6u);
  size_t k = 0;
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t j = i + 1; j < 4; ++j, ++k) {
      EXPECT_EQ(pairs[k].i, i);
      EXPECT_EQ(pairs[k].j, j);
    }
  EXPECT_TRUE(make_statistics("xx", 1).empty());
  EXPECT_THROW(make_statistics("x5", 2), Error);
}

}  // namespace
}  // namespace selfnorm
