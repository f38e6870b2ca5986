#include <gtest/gtest.h>

#include <cmath>

#include "sampler/hmc.h"

namespace selfnorm {
namespace {

TEST(BoxWalls, ReflectOnceTwiceAndOnOneSide) {
  const BoxWalls walls(Support::box({0, 0, -HUGE_VAL}, {1, HUGE_VAL, 2}));
  struct Case {
    uint32_t j;
    double target;
    float x;
    double velocity;
  };
  for (const Case& c :
       {Case{0, 0.25, 0.25f, 1}, Case{0, 1.25, 0.75f, -1}, Case{0, -0.25, 0.25f, -1}, Case{0, 2.25, 0.25f, 1},
        Case{0, -1.25, 0.75f, 1}, Case{1, -3, 3, -1}, Case{1, 5, 5, 1}, Case{2, 3, 1, -1}}) {
    double velocity = 1;
    EXPECT_EQ(walls.reflect(c.j, c.target, velocity), c.x) << c.target;
    EXPECT_EQ(velocity, c.velocity) << c.target;
  }
}

// Walls that are no float32: what is returned is inside all the same.
TEST(BoxWalls, RoundingStaysInside) {
  const Support support = Support::box({0.1}, {0.7});
  const BoxWalls walls(support);
  for (const double target : {0.1, 0.7, 0.1 + 1e-12, 0.7 - 1e-12, 1e9}) {
    double velocity = 1;
    const float x = walls.reflect(0, target, velocity);
    EXPECT_TRUE(contains(support, {&x, 1})) << target;
  }
}

TEST(BoxWalls, NoneAreLeftThrough) {
  double velocity = 1;
  EXPECT_EQ(BoxWalls(Support::reals()).reflect(0, 1e9, velocity), 1e9f);
  EXPECT_TRUE(std::isnan(BoxWalls(Support::box({0}, {1})).reflect(0, NAN, velocity)));
  EXPECT_EQ(velocity, 1);
}

}  // namespace
}  // namespace selfnorm
