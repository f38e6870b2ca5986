#include <gtest/gtest.h>

#include <algorithm>

#include "proposal/conditional/mixture_cases.h"

namespace selfnorm {
namespace {

// Two clouds of 500 points, around -2 and 3 in every coordinate.
std::vector<float> clouds(uint32_t d) {
  std::vector<float> y = random_vector<float>(1000 * d, 8, 0.5);
  for (size_t i = 0; i < y.size(); ++i) y[i] += i / d < 500 ? -2.0f : 3.0f;
  return y;
}

TEST(MixtureStart, OneComponentIsMeanAndDeviation) {
  const ConditionalMixture mixture(mixture_shape(1, 1));
  const std::vector<float> y{1, 2, 3, 6};
  const auto found = mixture.components(mixture.start({y.data(), 4, 1}));
  EXPECT_NEAR(found[0].mean[0], 3, 1e-6);
  EXPECT_NEAR(found[0].scale[0], std::sqrt(3.5), 1e-6);
}

TEST(MixtureStart, CellsOfQuantiles) {
  const ConditionalMixture mixture(mixture_shape(1, 3));
  std::vector<float> y(90);
  for (size_t i = 0; i < 90; ++i) y[i] = static_cast<float>((i * 37) % 90);
  const auto found = mixture.components(mixture.start({y.data(), 90, 1}));
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found[k].weight, 1.0 / 3, 1e-7);
    EXPECT_NEAR(found[k].mean[0], 30 * static_cast<double>(k) + 14.5, 1e-5);
    EXPECT_NEAR(found[k].scale[0], 1.5 * std::sqrt((900 - 1) / 12.0), 1e-4);
  }
}

// Much better than one normal, for points in one to three dimensions.
TEST(MixtureStart, CoversTheData) {
  for (const uint32_t d : {1u, 2u, 3u}) {
    const std::vector<float> y = clouds(d);
    std::vector<double> mean;
    for (const uint32_t components : {1u, 8u}) {
      MixtureCase c = mixture_case(mixture_shape(d, components), {1000});
      c.y = y;
      c.parameters = c.mixture.start({y.data(), 1000, d});
      double sum = 0;
      for (const double v : c.log_prob()) {
        EXPECT_GT(v, -40);
        sum += v / 1000;
      }
      mean.push_back(sum);
    }
    EXPECT_GT(mean[1], mean[0] + 0.4 * d);
  }
}

TEST(MixtureStart, FiniteForFewAndRepeatedValues) {
  for (const MixtureShape& shape : {mixture_shape(1, 8), mixture_shape(2, 5), mixture_shape(1, 8, {0}, {9})})
    for (const uint64_t rows : {1u, 2u, 7u, 100u}) {
      std::vector<float> y(rows * shape.dimension, 2);
      y[0] = 3;
      MixtureCase c = mixture_case(shape, {static_cast<uint32_t>(rows)});
      c.y = y;
      c.parameters = c.mixture.start({y.data(), rows, shape.dimension});
      for (const float p : c.parameters) EXPECT_TRUE(std::isfinite(p));
      for (const double v : c.log_prob()) EXPECT_TRUE(std::isfinite(v));
    }
}

}  // namespace
}  // namespace selfnorm
