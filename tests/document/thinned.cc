#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "document/point_cloud.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Series random_line(size_t n, RandomStream& random) {
  Series line;
  for (size_t i = 0; i < n; ++i) {
    line.x.push_back(static_cast<double>(i));
    line.y.push_back(random.normal());
    line.labels.push_back(std::to_string(i));
  }
  return line;
}

TEST(Thinned, ShortLinesStayAsTheyAre) {
  RandomStream random(1);
  const Series line = random_line(2000, random);
  EXPECT_EQ(thinned(line).x, line.x);
  EXPECT_EQ(thinned(line).y, line.y);
  EXPECT_TRUE(thinned(Series{}).x.empty());
}

TEST(Thinned, ExtremesEndsAndOrderStay) {
  EXPECT_TRUE(rc::check("thinned", [](uint32_t seed) {
    RandomStream random(seed);
    const size_t n = 9 + random.below(500), most = 8 + random.below(100);
    const Series line = random_line(n, random);
    const Series out = thinned(line, most);
    RC_ASSERT(out.x.size() <= most);
    RC_ASSERT(std::ranges::is_sorted(out.x));
    RC_ASSERT(std::ranges::adjacent_find(out.x) == out.x.end());
    RC_ASSERT(out.x.front() == 0 && out.x.back() == static_cast<double>(n - 1));
    RC_ASSERT(std::ranges::min(out.y) == std::ranges::min(line.y));
    RC_ASSERT(std::ranges::max(out.y) == std::ranges::max(line.y));
    for (size_t i = 0; i < out.x.size(); ++i) {
      const auto at = static_cast<size_t>(out.x[i]);
      RC_ASSERT(out.y[i] == line.y[at] && out.labels[i] == line.labels[at]);
    }
  }));
}

// Every bucket of 100 keeps its own extremes, not only those of the line.
TEST(Thinned, EveryPartKeepsItsExtremes) {
  Series line;
  for (size_t i = 0; i < 1000; ++i) {
    line.x.push_back(static_cast<double>(i));
    line.y.push_back(i % 100 == 37 ? 1 : i % 100 == 62 ? -1 : 0);
  }
  const Series out = thinned(line, 32);
  EXPECT_EQ(std::ranges::count(out.y, 1), 10);
  EXPECT_EQ(std::ranges::count(out.y, -1), 10);
}

TEST(Thinned, InterruptionsStay) {
  RandomStream random(2);
  Series line = random_line(5000, random);
  line.y[2500] = kNone;
  const Series out = thinned(line);
  EXPECT_LE(out.x.size(), kMostPoints);
  const auto at = std::ranges::find(out.x, 2500.0);
  ASSERT_NE(at, out.x.end());
  EXPECT_TRUE(std::isnan(out.y[static_cast<size_t>(at - out.x.begin())]));
  Series nothing = line;
  std::ranges::fill(nothing.y, kNone);
  EXPECT_LE(thinned(nothing).x.size(), kMostPoints);
}

}  // namespace
}  // namespace selfnorm
