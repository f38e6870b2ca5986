#include <gtest/gtest.h>

#include "family/density/density_figure.h"
#include "family/density/shown_density.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

TEST(DensityPoints, AreSomeRowsAndDrawsThatSayHowGoodTheyAre) {
  const DensityModel model = shown_normal(2);
  const auto data = normal_points(2, 30'000);
  const DensityPoints points = density_points(model, *data, 5);
  EXPECT_EQ(points.data.size(), 2u * 20'000);
  EXPECT_EQ(points.samples.size(), 2u * 500);
  EXPECT_EQ(points.some_data(100).size(), 200u);
  EXPECT_EQ(points.names, (std::vector<std::string>{"x1", "x2"}));
  EXPECT_TRUE(points.is_trusted);
  EXPECT_NE(points.quality.find("500 samples by sir"), std::string::npos) << points.quality;
  double mean = 0;
  for (const double x : points.sample_column(1)) mean += x / 500;
  EXPECT_NEAR(mean, 10, 0.45);  // five standard errors
}

TEST(DensityPoints, AreTheSameForAnyThreadsAndNotForAnotherSeed) {
  const DensityModel model = shown_normal(3);
  const auto data = normal_points(3, 50);
  const auto drawn = [&](int threads, uint64_t seed) {
    const ThreadLimit limit(threads);
    return density_points(model, *data, seed).samples;
  };
  EXPECT_EQ(drawn(1, 4), drawn(2, 4));
  EXPECT_NE(drawn(1, 4), drawn(1, 5));
}

// Two modes 40 standard deviations apart of which the proposal sees both and no chain leaves its own.
TEST(DensityPoints, SayWhenChainsDoNotAgree) {
  const DensityModel model =
      small_model(bumps(6, {{-20, 0}, {20, 0}}), std::make_shared<SmallNormal>(6, 0, 15));
  const auto data = normal_points(6, 50);
  const DensityPoints points = density_points(model, *data, 5);
  EXPECT_FALSE(points.is_trusted) << points.quality;
}

// Nothing of what the proposal draws is possible.
TEST(DensityPoints, SayWhyThereAreNoSamples) {
  const Support box = Support::box({100, 100}, {101, 101});
  const DensityModel model =
      small_model(quadratic({100, 100}, {1, 1}, 0, box), std::make_shared<SmallNormal>(2, 0, 1));
  const auto data = make_point_source(2, {100.5, 100.5});
  const DensityPoints points = density_points(model, *data, 5);
  EXPECT_TRUE(points.samples.empty());
  EXPECT_FALSE(points.is_trusted);
  EXPECT_NE(points.quality.find("no samples: "), std::string::npos) << points.quality;
}

}  // namespace
}  // namespace selfnorm
