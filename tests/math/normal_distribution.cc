#include <gtest/gtest.h>

#include <cmath>

#include "math/special_functions.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// mpmath, 60 digits.
TEST(NormalDistribution, MillsRatioKnown) {
  const double known[][3] = {
      {0, 1.2533141373155003, 0.79788456080286536},       {0.5, 0.87636445645369235, 0.64107777036806448},
      {1, 0.65567954241879847, 0.52513527616098121},      {2, 0.42136922928805447, 0.37321553282284087},
      {2.9999, 0.30459892185001099, 0.28310571100647155}, {3, 0.3045902987101033, 0.28309865493043651},
      {4, 0.23665238291356067, 0.22560714448947107},      {6, 0.16237766089686746, 0.15848260454459892},
      {10, 0.099028596471731921, 0.098093233962511963},   {30, 0.033296419072497213, 0.033259667433677037},
      {100, 0.0099990002998501049, 0.0099980009992607052}};
  for (const auto& [x, ratio, excess] : known) {
    EXPECT_NEAR(mills_ratio(x).ratio, ratio, 2e-15 * ratio) << x;
    EXPECT_NEAR(mills_ratio(x).excess, excess, 2e-14 * excess) << x;
  }
}

TEST(NormalDistribution, MillsRatioFarAway) {
  for (const double x : {1e8, 1e40, 1e200}) {
    EXPECT_DOUBLE_EQ(mills_ratio(x).ratio, 1 / x);
    EXPECT_DOUBLE_EQ(mills_ratio(x).excess, 1 / x);
  }
  EXPECT_EQ(mills_ratio(kInfinity).ratio, 0);
  EXPECT_EQ(mills_ratio(kInfinity).excess, 0);
  EXPECT_TRUE(std::isnan(mills_ratio(-1).ratio));
  EXPECT_TRUE(std::isnan(mills_ratio(std::nan("")).excess));
}

TEST(NormalDistribution, MassKnown) {
  const double known[][3] = {{-1, 2, 0.81859461412036374},      {0, 1e-9, 3.989422804014327e-10},
                             {3, 3.5, 0.0011172689525945695},   {-9, -8, 6.2198319858658303e-16},
                             {30, 31, 4.9067139271479175e-198}, {-1e-5, 2e-5, 1.1968268411444568e-5},
                             {1, 1.001, 0.00024184973917701735}};
  for (const auto& [a, b, mass] : known) {
    EXPECT_NEAR(normal_mass(a, b), mass, 2e-13 * mass) << a;
    EXPECT_EQ(normal_mass(-b, -a), normal_mass(a, b)) << a;
  }
  EXPECT_EQ(normal_mass(-kInfinity, kInfinity), 1);
  EXPECT_EQ(normal_mass(0, kInfinity), 0.5);
  EXPECT_EQ(normal_mass(50, kInfinity), 0);
}

}  // namespace
}  // namespace selfnorm
