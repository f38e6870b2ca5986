#include <gtest/gtest.h>

#include "math/parallel.h"
#include "proposal/conditional/mixture_cases.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Fourth-order central difference; h is a power of two, so that arguments are exact in float32.
template <class F>
double difference(const F& f, double h) {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}
template <class F>
double second_difference(const F& f, double h) {
  return (16 * (f(h) + f(-h)) - (f(2 * h) + f(-2 * h)) - 30 * f(0)) / (12 * h * h);
}

constexpr double kStep = 0x1p-11;

std::vector<float> parameter_gradient(const MixtureCase& c, double w, std::span<const double> weight) {
  std::vector<float> d(c.parameters.size());
  c.mixture.add_gradient(c.at(), w, weight, d);
  return d;
}

void expect_parameter_gradient(MixtureCase c, double w, double tolerance) {
  const std::vector<double> weight = random_vector<double>(c.row.size(), 9);
  const std::vector<float> d = parameter_gradient(c, w, weight);
  for (size_t p = 0; p < d.size(); ++p) {
    const float at = c.parameters[p];
    const auto value = [&](double h) {
      c.parameters[p] = at + static_cast<float>(h);
      std::vector<double> log_q(c.row.size()), log_g(c.row.size());
      c.mixture.log_prob(c.at(), log_q, log_g);
      double sum = 0;
      for (size_t i = 0; i < c.row.size(); ++i) sum += weight[i] * broadened(log_q[i], log_g[i], w);
      return sum;
    };
    const double numeric = difference(value, kStep);
    c.parameters[p] = at;
    EXPECT_NEAR(d[p], numeric, tolerance * std::max(1.0, std::abs(numeric))) << "parameter " << p;
  }
}

TEST(MixtureGradient, OfTheParameters) {
  for (const MixtureShape& shape : mixture_shapes())
    for (const double w : {0.0, 0.1, 1.0})
      expect_parameter_gradient(mixture_case(shape, {3, 0, 1, 2}), w, 1e-6);
}

// Every component 30 standard deviations and more beyond a bound.
MixtureCase far_outside(double upper) {
  MixtureCase c = mixture_case(mixture_shape(1, 2, {0}, {upper}), {4});
  c.parameters = {0.25f, -0.5f, -24, -32, 0, 0.5f};
  c.y = {0, 0.015625f, 0.0625f, 0.25f};
  return c;
}

TEST(MixtureGradient, FarOutsideTheSupport) {
  for (const double upper : {kInfinity, 0.5, 1.0}) {
    MixtureCase c = far_outside(upper);
    expect_parameter_gradient(c, 0, 1e-6);
    expect_parameter_gradient(c, 0.1, 1e-6);
  }
}

TEST(MixtureGradient, IsAddedAndLinearInTheWeights) {
  const MixtureCase c = mixture_case(mixture_shape(1, 3), {5, 70});
  std::vector<double> weight = random_vector<double>(75, 3);
  std::vector<float> d = parameter_gradient(c, 0.2, weight);
  const std::vector<float> once = d;
  c.mixture.add_gradient(c.at(), 0.2, weight, d);
  for (size_t p = 0; p < d.size(); ++p) EXPECT_NEAR(d[p], 2 * once[p], 1e-5);
}

void expect_point_derivatives(MixtureCase c, double w, double step, double tolerance) {
  const size_t n = c.row.size(), d = c.dimension();
  const std::vector<float> v = binary_numbers(n * d, 11, 1);
  std::vector<double> dy(n * d), first(n), second(n), alone(n);
  c.mixture.log_prob_gradient(c.at(), w, dy);
  const Points directions{v.data(), n, c.dimension()};
  c.mixture.directional(c.at(), directions, w, first, second);
  c.mixture.directional(c.at(), directions, w, alone, {});
  EXPECT_EQ(alone, first);
  c.mixture.directional(c.at(), directions, w, {}, alone);
  EXPECT_EQ(alone, second);
  for (size_t i = 0; i < n; ++i) {
    const std::vector<float> y = c.y;
    const auto along = [&](auto direction) {
      return [&, direction](double h) {
        for (size_t j = 0; j < d; ++j) c.y[i * d + j] += static_cast<float>(h * direction(j));
        const double out = c.log_prob(w, i);
        c.y = y;
        return out;
      };
    };
    for (size_t j = 0; j < d; ++j) {
      const double numeric = difference(along([j](size_t k) { return k == j ? 1.0 : 0.0; }), step);
      EXPECT_NEAR(dy[i * d + j], numeric, tolerance * std::max(1.0, std::abs(numeric))) << i;
    }
    const auto f = along([&](size_t k) { return static_cast<double>(v[i * d + k]); });
    EXPECT_NEAR(first[i], difference(f, step), tolerance * std::max(1.0, std::abs(first[i]))) << i;
    EXPECT_NEAR(second[i], second_difference(f, step), 10 * tolerance * std::max(1.0, std::abs(second[i])))
        << i;
  }
}

TEST(MixtureGradient, OfThePoints) {
  for (const MixtureShape& shape : mixture_shapes())
    for (const double w : {0.0, 0.1}) {
      MixtureCase c = mixture_case(shape, {3, 0, 1, 2});
      for (size_t i = 0; i < c.y.size() && !shape.lower.empty(); ++i) {  // room for the differences
        const auto j = i % shape.dimension;
        c.y[i] = std::clamp(c.y[i], static_cast<float>(shape.lower[j] + 0.125),
                            static_cast<float>(shape.upper[j] - 0.125));
      }
      expect_point_derivatives(c, w, kStep, 1e-6);
    }
}

TEST(MixtureGradient, OfPointsUnderComponentsFarOutside) {
  MixtureCase c = far_outside(1.0);
  c.y[0] = 0.03125f;
  expect_point_derivatives(c, 0.1, kStep, 1e-6);
}

TEST(MixtureGradient, ZeroOutsideTheSupport) {
  MixtureCase c = mixture_case(mixture_shape(1, 2, {0}, {1}), {3});
  c.y = {2, -1, std::nanf("")};
  for (const float v : parameter_gradient(c, 0.1, std::vector<double>{1, 1, 1})) EXPECT_EQ(v, 0);
  std::vector<double> dy(3, 5), first(3, 5), second(3, 5);
  c.mixture.log_prob_gradient(c.at(), 0.1, dy);
  c.mixture.directional(c.at(), c.at().y, 0.1, first, second);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(dy[i] == 0 && first[i] == 0 && second[i] == 0);
}

TEST(MixtureGradient, FiniteForExtremeParameters) {
  for (const MixtureShape& shape : mixture_shapes())
    for (const float raw : {-100.0f, 100.0f, -3e38f, 3e38f})
      for (const float mean : {-1e3f, 1e3f, -3e38f, 3e38f})
        for (const double w : {0.0, 0.1}) {
          MixtureCase c = mixture_case(shape, {5});
          const size_t cells = size_t{shape.components} * shape.dimension;
          for (size_t p = 0; p < cells; ++p) {
            c.parameters[shape.components + p] = mean;
            c.parameters[shape.components + cells + p] = raw;
          }
          for (const float v : parameter_gradient(c, w, std::vector<double>(5, 1)))
            ASSERT_TRUE(std::isfinite(v)) << raw << ' ' << mean;
          std::vector<double> dy(c.y.size()), first(5), second(5);
          c.mixture.log_prob_gradient(c.at(), w, dy);
          c.mixture.directional(c.at(), c.at().y, w, first, second);
          for (const auto* out : {&dy, &first, &second})
            for (const double v : *out) ASSERT_TRUE(std::isfinite(v)) << raw << ' ' << mean;
        }
}

TEST(MixtureGradient, ParametersThatAreNotFiniteGiveNan) {
  MixtureCase c = mixture_case(mixture_shape(1, 2), {1, 1});
  c.parameters[3] = std::nanf("");
  const std::vector<float> d = parameter_gradient(c, 0.1, std::vector<double>{1, 1});
  std::vector<double> dy(2), first(2), second(2);
  c.mixture.log_prob_gradient(c.at(), 0.1, dy);
  c.mixture.directional(c.at(), c.at().y, 0.1, first, second);
  EXPECT_TRUE(std::isnan(d[0]) && std::isnan(dy[0]) && std::isnan(first[0]) && std::isnan(second[0]));
  EXPECT_TRUE(std::isfinite(d[6]) && std::isfinite(dy[1]) && std::isfinite(first[1]) &&
              std::isfinite(second[1]));
}

TEST(MixtureGradient, SameBitsForAnyThreads) {
  const MixtureCase c = mixture_case(mixture_shape(1, 8), std::vector<uint32_t>(700, 9));
  const std::vector<double> weight = random_vector<double>(c.row.size(), 2);
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 4}) {
    const ThreadLimit limit(threads);
    found.push_back(parameter_gradient(c, 0.1, weight));
  }
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace selfnorm
