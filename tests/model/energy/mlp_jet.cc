#include <gtest/gtest.h>

#include <cmath>

#include "model/energy/mlp_reference.h"

namespace selfnorm {
namespace {

// s along x_i + t v_i at t = 0, by differences of the oracle.
struct Directional {
  double first, second;
};
Directional jet_along(const MlpReference& reference, const Batch& batch, uint64_t i) {
  constexpr double h = 1e-3;
  double s[5];
  for (int k = 0; k < 5; ++k) s[k] = reference.score(batch.point(i, (k - 2) * h));
  return {(s[0] - 8 * s[1] + 8 * s[3] - s[4]) / (12 * h),
          (-s[0] + 16 * s[1] - 30 * s[2] + 16 * s[3] - s[4]) / (12 * h * h)};
}

TEST(MlpJet, DerivativesAlongDirections) {
  const Batch batch;
  for (const MlpOptions& options : all_options()) {
    const auto energy = network(kDimension, options);
    const MlpReference reference(options, kDimension, doubles(energy->parameters()));
    std::vector<double> first(kRows), second(kRows), alone(kRows);
    energy->directional(batch.x(), batch.v(), first, second);
    energy->directional(batch.x(), batch.v(), alone, {});
    EXPECT_EQ(first, alone);
    for (uint64_t i = 0; i < kRows; ++i) {
      const Directional expected = jet_along(reference, batch, i);
      EXPECT_NEAR(first[i], expected.first, 2e-5 * std::max(1.0, std::abs(expected.first)))
          << name_of(options);
      EXPECT_NEAR(second[i], expected.second, 1e-4 * std::max(1.0, std::abs(expected.second)))
          << name_of(options);
    }
  }
}

TEST(MlpJet, GradientsOfDerivativesAlongDirections) {
  const Batch batch;
  for (const MlpOptions& options : all_options()) {
    const auto energy = network(kDimension, options);
    const std::vector<double> theta = doubles(energy->parameters());
    for (const bool has_second : {false, true}) {
      std::vector<float> gradient(theta.size(), 0.5f);
      energy->directional_backward(
          batch.x(), batch.v(), batch.weight,
          has_second ? std::span<const double>(batch.second_weight) : std::span<const double>(), gradient);
      const std::vector<double> expected = differences(theta, 1e-3, [&](const std::vector<double>& t) {
        const MlpReference moved(options, kDimension, t);
        double sum = 0;
        for (uint64_t i = 0; i < kRows; ++i) {
          const Directional d = jet_along(moved, batch, i);
          sum += batch.weight[i] * d.first + (has_second ? batch.second_weight[i] * d.second : 0);
        }
        return sum;
      });
      for (size_t p = 0; p < theta.size(); ++p)
        EXPECT_NEAR(gradient[p], 0.5 + expected[p], 2e-4 * std::max(1.0, std::abs(expected[p])))
            << name_of(options) << " parameter " << p;
    }
  }
}

}  // namespace
}  // namespace selfnorm
