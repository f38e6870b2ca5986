#include "model/energy/mlp.h"

#include <gtest/gtest.h>

#include <limits>

#include "math/parallel.h"
#include "model/energy/mlp_reference.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Mlp, ScoresAreThoseOfTheFormula) {
  const Batch batch;
  for (const MlpOptions& options : all_options()) {
    const auto energy = network(kDimension, options);
    std::vector<double> s(kRows);
    energy->score(batch.x(), s);
    const MlpReference reference(options, kDimension, doubles(energy->parameters()));
    for (uint64_t i = 0; i < kRows; ++i)
      EXPECT_NEAR(s[i], reference.score(batch.point(i)), 3e-6) << name_of(options);
  }
}

TEST(Mlp, GradientsOfParametersAndOfPoints) {
  const Batch batch;
  for (const MlpOptions& options : all_options()) {
    const auto energy = network(kDimension, options);
    const std::vector<double> theta = doubles(energy->parameters());
    const auto pass = energy->make_pass();
    std::vector<double> s(kRows);
    energy->score(batch.x(), s);
    const std::span<const double> forward = pass->forward(batch.x());
    EXPECT_TRUE(std::equal(s.begin(), s.end(), forward.begin())) << name_of(options);

    std::vector<float> gradient(theta.size(), 0.5f);
    pass->backward(batch.weight, gradient);
    const std::vector<double> expected = differences(theta, 1e-5, [&](const std::vector<double>& t) {
      const MlpReference moved(options, kDimension, t);
      double sum = 0;
      for (uint64_t i = 0; i < kRows; ++i) sum += batch.weight[i] * moved.score(batch.point(i));
      return sum;
    });
    for (size_t p = 0; p < theta.size(); ++p)
      EXPECT_NEAR(gradient[p], 0.5 + expected[p], 2e-5 * std::max(1.0, std::abs(expected[p])))
          << name_of(options) << " parameter " << p;

    const MlpReference reference(options, kDimension, theta);
    std::vector<float> dx(kRows * kDimension);
    energy->score_gradient(batch.x(), s, dx);
    EXPECT_TRUE(std::equal(s.begin(), s.end(), forward.begin())) << name_of(options);
    for (uint64_t i = 0; i < kRows; ++i) {
      const std::vector<double> slope =
          differences(batch.point(i), 1e-5, [&](const std::vector<double>& x) { return reference.score(x); });
      for (uint32_t j = 0; j < kDimension; ++j)
        EXPECT_NEAR(dx[i * kDimension + j], slope[j], 1e-5 * std::max(1.0, std::abs(slope[j])))
            << name_of(options);
    }
  }
}

TEST(Mlp, RowsDoNotDependOnTheirBatch) {
  MlpOptions options;
  options.widths = {40, 40};
  options.fourier = 7;
  const auto energy = network(2, options);
  const std::vector<float> x = random_vector<float>(2 * 300, 5);
  std::vector<double> alone(300);
  for (uint64_t i = 0; i < 300; ++i)
    energy->score({x.data() + 2 * i, 1, 2}, std::span<double>(alone).subspan(i, 1));
  const auto pass = energy->make_pass();
  for (const uint64_t rows : {300u, 1u, 63u, 64u, 65u, 300u}) {
    const Points points{x.data(), rows, 2};
    std::vector<double> s(rows);
    energy->score(points, s);
    const std::span<const double> forward = pass->forward(points);
    ASSERT_EQ(forward.size(), rows);
    for (uint64_t i = 0; i < rows; ++i) {
      EXPECT_EQ(s[i], alone[i]);
      EXPECT_EQ(forward[i], alone[i]);
    }
  }
  energy->score({nullptr, 0, 2}, {});
  EXPECT_TRUE(pass->forward({nullptr, 0, 2}).empty());
  std::vector<float> gradient(energy->parameters().size());
  pass->backward({}, gradient);
  for (const float g : gradient) EXPECT_EQ(g, 0);
}

// The gradient of a batch is the sum of those of its halves, and backward can be asked again.
TEST(Mlp, GradientsAdd) {
  MlpOptions options;
  options.widths = {33, 33, 20};
  options.residual = true;
  options.fourier = 20;
  const auto energy = network(2, options);
  const std::vector<float> x = random_vector<float>(2 * 2000, 5);
  const std::vector<double> d = random_vector<double>(2000, 6);
  const auto pass = energy->make_pass();
  const auto gradient_of = [&](uint64_t begin, uint64_t end) {
    std::vector<float> gradient(energy->parameters().size());
    pass->forward(Points{x.data(), 2000, 2}.slice(begin, end));
    pass->backward(std::span<const double>(d).subspan(begin, end - begin), gradient);
    return gradient;
  };
  const std::vector<float> all = gradient_of(0, 2000), low = gradient_of(0, 777),
                           high = gradient_of(777, 2000);
  std::vector<float> again(all.size());
  pass->backward(std::span<const double>(d).subspan(777), again);
  EXPECT_EQ(again, high);
  for (size_t p = 0; p < all.size(); ++p) EXPECT_NEAR(all[p], low[p] + high[p], 1e-3);
}

TEST(Mlp, TheSameBitsForAnyNumberOfThreads) {
  for (const bool is_spectral : {false, true}) {
    MlpOptions options;
    options.widths = {48, 48};
    options.fourier = 9;
    options.spectral_norm = is_spectral;
    const std::vector<float> x = random_vector<float>(3 * 1500, 5), v = random_vector<float>(3 * 1500, 8);
    const std::vector<double> d = random_vector<double>(1500, 6);
    const Points points{x.data(), 1500, 3}, directions{v.data(), 1500, 3};
    std::vector<std::vector<float>> gradients;
    std::vector<std::vector<double>> scores;
    for (const int threads : {1, 2, 3}) {
      const ThreadLimit limit(threads);
      const auto energy = network(3, options);
      const auto pass = energy->make_pass();
      const std::span<const double> s = pass->forward(points);
      scores.emplace_back(s.begin(), s.end());
      std::vector<float> gradient(energy->parameters().size()), dx(x.size());
      pass->backward(d, gradient);
      energy->directional_backward(points, directions, d, d, gradient);
      std::vector<double> value(1500);
      energy->score_gradient(points, value, dx);
      gradient.insert(gradient.end(), dx.begin(), dx.end());
      gradients.push_back(gradient);
    }
    EXPECT_EQ(gradients[0], gradients[1]);
    EXPECT_EQ(gradients[0], gradients[2]);
    EXPECT_EQ(scores[0], scores[1]);
    EXPECT_EQ(scores[0], scores[2]);
  }
}

TEST(Mlp, SpectralNormBoundsEveryLayer) {
  MlpOptions options;
  options.widths = {30};
  options.spectral_norm = true;
  const auto energy = network(4, options);
  // With W / sigma, scaling W changes nothing.
  const std::vector<float> x = random_vector<float>(4 * 10, 5);
  std::vector<double> before(10), after(10);
  energy->score({x.data(), 10, 4}, before);
  for (size_t p = 0; p < 4 * 30; ++p) energy->parameters()[p] *= 8;
  energy->parameters_changed();
  energy->score({x.data(), 10, 4}, after);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(before[i], after[i], 1e-5);
  // Scores are a function of theta alone, whatever it was before.
  const std::vector<float> theta(energy->parameters().begin(), energy->parameters().end());
  for (const float other : {std::numeric_limits<float>::quiet_NaN(), 100.0f}) {
    std::vector<double> between(10), again(10);
    energy->parameters()[3] = other;
    energy->parameters_changed();
    energy->score({x.data(), 10, 4}, between);
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(std::isnan(between[i]), std::isnan(other));
    std::copy(theta.begin(), theta.end(), energy->parameters().begin());
    energy->parameters_changed();
    energy->score({x.data(), 10, 4}, again);
    EXPECT_EQ(again, after);
  }
  // A zero matrix has no direction and stays zero.
  for (size_t p = 0; p < 4 * 30; ++p) energy->parameters()[p] = 0;
  energy->parameters_changed();
  energy->score({x.data(), 10, 4}, after);
  for (size_t i = 1; i < 10; ++i) EXPECT_EQ(after[i], after[0]);
}

TEST(Mlp, StartsSmall) {
  MlpOptions options;
  options.fourier = 16;
  const auto energy = make_mlp(2, options, 1);
  const std::vector<float> x = random_vector<float>(2 * 500, 5);
  std::vector<double> s(500);
  energy->score({x.data(), 500, 2}, s);
  for (const double v : s) EXPECT_LT(std::abs(v), 1);
  const auto other = make_mlp(2, options, 2);
  EXPECT_FALSE(
      std::equal(energy->parameters().begin(), energy->parameters().end(), other->parameters().begin()));
}

}  // namespace
}  // namespace selfnorm
