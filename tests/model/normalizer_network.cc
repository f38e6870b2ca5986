#include "model/normalizer_network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <utility>

#include "gradient_check.h"
#include "math/parallel.h"
#include "random_data.h"
#include "runtime/random_model.h"

namespace selfnorm::test {
namespace {

std::vector<float> row_of(const Features& x, uint64_t i) {
  if (!x.is_sparse) return {x.dense.row(i).begin(), x.dense.row(i).end()};
  std::vector<float> out(x.columns());
  for (uint64_t p = x.sparse.begin[i]; p < x.sparse.begin[i + 1]; ++p)
    out[x.sparse.column[p]] = x.sparse.value[p];
  return out;
}

RC_GTEST_PROP(NormalizerNetwork, ValuesAreTheFormula, (uint32_t seed, bool sparse)) {
  std::mt19937 random(seed);
  const uint32_t d = up_to(random, 9), m = up_to(random, 80) - 1;
  const Dataset data = random_dataset({.rows = up_to(random, 150), .features = d, .sparse = sparse}, seed);
  const AmortisedNormalizer b = random_normalizer(random, d, m);
  const std::vector<double> values = values_of(b, data.features);
  RC_ASSERT(values.size() == data.features.rows());
  for (uint64_t i = 0; i < values.size(); ++i) {
    const double expected = reference_normalizer(b, row_of(data.features, i));
    RC_ASSERT(std::fabs(values[i] - expected) < 1e-12 * (1 + std::fabs(expected) + m));
  }
}

TEST(NormalizerNetwork, GradientOfTheSquaredError) {
  for (const bool sparse : {false, true}) {
    for (const uint32_t hidden : {0u, 1u, 5u, 40u}) {
      const Dataset data = random_dataset({.rows = 12, .features = 4, .sparse = sparse}, 7 + hidden);
      const std::vector<double> value = random_vector<double>(12, 8);
      const NormalizerNetwork<double> network(4, hidden);
      const std::vector<double> theta = random_vector<double>(network.parameters(), 9);
      const NormalizerTargets targets{data.features, value};
      std::vector<double> gradient(network.gradient_size(data.features));
      ASSERT_EQ(gradient.size(), theta.size());
      network.squared_error(targets, theta, 0.25, gradient);
      expect_gradient(
          [&](const std::vector<double>& at) { return 0.25 * network.squared_error(targets, at, 1, {}); },
          theta, gradient, 1e-6, 1e-5);
    }
  }
}

// Any derivative of the values goes back, not that of the squared error alone.
TEST(NormalizerNetwork, BackwardIsTheTransposedDerivative) {
  for (const uint32_t hidden : {0u, 3u, 40u}) {
    const Dataset data = random_dataset({.rows = 10, .features = 4, .sparse = true}, 3);
    const std::vector<double> d_value = random_vector<double>(10, 4);
    const NormalizerNetwork<double> network(4, hidden);
    const std::vector<double> theta = random_vector<double>(network.parameters(), 5);
    std::vector<double> gradient(network.gradient_size(data.features));
    auto activations = network.forward({data.features}, theta);
    EXPECT_EQ(activations.value.size(), 10u);
    network.backward(std::move(activations), theta, d_value, gradient);
    expect_gradient(
        [&](const std::vector<double>& at) {
          const std::vector<double> values = network.values({data.features}, at);
          return std::inner_product(values.begin(), values.end(), d_value.begin(), 0.0);
        },
        theta, gradient, 1e-6, 1e-5);
  }
}

// b(x) of raw x is the network of scaled x.
TEST(NormalizerNetwork, ScalingFoldsIntoTheParameters) {
  for (const uint32_t hidden : {0u, 5u}) {
    const Dataset data = random_dataset({.rows = 20, .features = 3}, 6);
    Features scaled = data.features;
    const Scaling scaling{{0.5, -2, 3}, {2, 0.25, 1}};
    scaling.apply(scaled.dense);
    const NormalizerNetwork<double> network(3, hidden);
    const std::vector<double> theta = random_vector<double>(network.parameters(), 7);
    const std::vector<double> expected = network.values({scaled}, theta);
    const std::vector<double> found = values_of(network.amortised(theta, scaling), data.features);
    const std::vector<double> later = values_of(folded(network.amortised(theta, {}), scaling), data.features);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-4);
      EXPECT_NEAR(later[i], expected[i], 1e-4);
    }
  }
}

TEST(NormalizerNetwork, MeanSquareOfTheHiddenUnits) {
  const Dataset data = random_dataset({.rows = 6, .features = 3}, 8);
  NormalizerNetwork<double> network(3, 40);
  std::vector<double> theta = random_vector<double>(network.parameters(), 9);
  const double square = network.forward({data.features}, theta).hidden_square;
  double expected = 0;
  for (uint32_t j = 0; j < 40; ++j) {
    std::vector<double> alone(network.parameters());  // b = max(0, s_j)
    for (uint32_t row = 0; row <= 3; ++row) alone[row * 41 + j] = theta[row * 41 + j];
    alone[network.output() + j] = 1;
    for (const double h : network.values({data.features}, alone)) expected += h * h / 6;
  }
  EXPECT_NEAR(square, expected, 1e-9);
  EXPECT_EQ(
      NormalizerNetwork<double>(3, 0).forward({data.features}, std::vector<double>{1, 2, 3, 4}).hidden_square,
      0);
}

TEST(NormalizerNetwork, TheErrorIsThatOfTheValues) {
  const Dataset data = random_dataset({.rows = 30, .features = 6}, 1);
  const std::vector<double> value = random_vector<double>(30, 2);
  const NormalizerNetwork<float> network(6, 70);
  const std::vector<float> theta = random_vector<float>(network.parameters(), 3);
  double expected = 0;
  const std::vector<double> values = network.values({data.features}, theta);
  for (size_t i = 0; i < 30; ++i) expected += (values[i] - value[i]) * (values[i] - value[i]);
  EXPECT_NEAR(network.squared_error({data.features, value}, theta, 1, {}), expected, 1e-5 * expected);
}

// Columns renumbered as in a minibatch: the gradient has a row for each of them.
TEST(NormalizerNetwork, RenumberedFeatures) {
  const Dataset data = random_dataset({.rows = 9, .features = 3, .sparse = true}, 4);
  const std::vector<double> value = random_vector<double>(9, 5);
  Features wide = data.features;
  const FeatureMap map{{4, 5, 9}};
  wide.sparse.columns = 12;
  for (uint32_t& column : wide.sparse.column.own()) column = map.feature[column];
  const NormalizerNetwork<double> network(12, 2);
  const std::vector<double> theta = random_vector<double>(network.parameters(), 6);
  std::vector<double> narrow(network.gradient_size(data.features)), whole(network.gradient_size(wide));
  EXPECT_EQ(network.squared_error({data.features, value, &map}, theta, 1, narrow),
            network.squared_error({wide, value}, theta, 1, whole));
  const size_t width = network.width();
  for (size_t j = 0; j < 3; ++j) {
    for (size_t k = 0; k < width; ++k) EXPECT_EQ(narrow[j * width + k], whole[map.feature[j] * width + k]);
  }
  for (size_t k = 0; k < width + 2; ++k) EXPECT_EQ(narrow[3 * width + k], whole[12 * width + k]);
}

TEST(NormalizerNetwork, TheSameBitsForAnyNumberOfThreads) {
  const Dataset data = random_dataset({.rows = 200, .features = 17}, 1);
  const std::vector<double> value = random_vector<double>(200, 2);
  const NormalizerNetwork<float> network(17, 100);
  const std::vector<float> theta = random_vector<float>(network.parameters(), 3);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    std::vector<float> gradient(network.parameters());
    const double error = network.squared_error({data.features, value}, theta, 0.1, gradient);
    return std::make_tuple(error, gradient, network.values({data.features}, theta));
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(NormalizerNetwork, OverflowStaysVisible) {
  Dataset data = random_dataset({.rows = 1, .features = 2}, 1);
  data.features.dense.values = {3e38f, 3e38f};
  const NormalizerNetwork<float> network(2, 1);
  for (const float sign : {-1.0f, 1.0f}) {
    const std::vector<float> theta = {sign * 1e10f, 0, -sign * 1e10f, 0, 0, 0, 1};
    EXPECT_FALSE(std::isfinite(network.values({data.features}, theta)[0]));
  }
}

}  // namespace
}  // namespace selfnorm::test
