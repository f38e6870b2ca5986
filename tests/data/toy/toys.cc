#include "data/toy/toys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;

const std::vector<std::string> kPlane = {"checkerboard", "four-circles",    "funnel", "pinwheel",
                                         "two-moons",    "eight-gaussians", "ring",   "spirals"};

// Probabilities of square cells of [-side, side]^2 by the midpoint rule.
struct CellProbabilities {
  double side, cell;
  int cells;  // along one side
  std::vector<double> p;

  CellProbabilities(const Toy& toy, double half_side, double cell_width, int steps)
      : side(half_side), cell(cell_width), cells(static_cast<int>(std::lround(2 * half_side / cell_width))) {
    const double h = cell / steps;
    p.resize(static_cast<size_t>(cells * cells));
    parallel_ranges(p.size(), 1, [&](size_t c, size_t) {
      const double a = static_cast<double>(c / static_cast<size_t>(cells)) * cell - side;
      const double b = static_cast<double>(c % static_cast<size_t>(cells)) * cell - side;
      for (int i = 0; i < steps; ++i)
        for (int j = 0; j < steps; ++j)
          p[c] += h * h *
                  std::exp(toy.log_density(
                      Floats{static_cast<float>(a + (i + 0.5) * h), static_cast<float>(b + (j + 0.5) * h)}));
    });
  }

  double total() const {
    double sum = 0;
    for (const double q : p) sum += q;
    return sum;
  }

  // (X^2 - dof) / sqrt(2 dof) over the cells that expect 5 points or more, all others in one.
  double excess(const Floats& points, double shift = 0) const {
    std::vector<double> count(p.size());
    const double n = static_cast<double>(points.size()) / 2;
    for (size_t i = 0; i < points.size(); i += 2) {
      const double a = std::floor((double{points[i]} + shift + side) / cell);
      const double b = std::floor((double{points[i + 1]} + side) / cell);
      if (a >= 0 && b >= 0 && a < cells && b < cells) count[static_cast<size_t>(a * cells + b)] += 1;
    }
    double square = 0, rest = n, rest_count = n, dof = -1;
    for (size_t c = 0; c < p.size(); ++c) {
      if (n * p[c] < 5) continue;
      square += (count[c] - n * p[c]) * (count[c] - n * p[c]) / (n * p[c]);
      rest -= n * p[c];
      rest_count -= count[c];
      dof += 1;
    }
    if (rest > 5) square += (rest_count - rest) * (rest_count - rest) / rest, dof += 1;
    return (square - dof) / std::sqrt(2 * dof);
  }
};

CellProbabilities cells_of(const std::string& name, const Toy& toy) {
  if (name == "funnel") return {toy, 8, 0.5, 8};  // its tails are outside
  if (name == "eight-gaussians") return {toy, 6, 0.5, 4};
  if (name == "pinwheel") return {toy, 3.4, 0.2, 16};
  return {toy, 4.4, 0.4, 8};
}

TEST(Toys, ReferenceEntropies) {
  EXPECT_NEAR(make_toy("checkerboard")->entropy(), 3.4657, 5e-5);
  // By an independent program from the closed form below. theory.md's 2.8706 is 2.870572, which the angles
  // 2 pi k / 999, k = 0 .. 999, give: 0 and 2 pi are the same one.
  EXPECT_NEAR(make_toy("four-circles")->entropy(), 2.87081902, 1e-7);
  EXPECT_NEAR(make_toy("funnel")->entropy(), 2.8379, 5e-5);
}

// Noise around a circle: p(x) = exp(-(r^2 + R^2) / (2 sigma^2)) I_0(r R / sigma^2) / (2 pi sigma^2).
TEST(Toys, RingByItsClosedForm) {
  const auto toy = make_toy("ring");
  for (const float r : {0.0f, 0.5f, 1.7f, 2.0f, 2.25f, 3.0f}) {
    const double x = double{r} * 2 / 0.01;
    const double expected = -(double{r} * double{r} + 4) / 0.02 + std::log(std::cyl_bessel_i(0.0, x)) -
                            std::log(2 * std::numbers::pi * 0.01);
    EXPECT_NEAR(toy->log_density(Floats{0, r}), expected, 1e-7) << r;
    EXPECT_NEAR(toy->log_density(Floats{-r, 0}), expected, 1e-7) << r;
  }
}

TEST(Toys, DensitiesIntegrateToOne) {
  for (const std::string& name : kPlane) {
    if (name == "funnel") continue;
    const auto toy = make_toy(name);
    EXPECT_NEAR(cells_of(name, *toy).total(), 1, 1e-5) << name;
  }
  // funnel: int int p(a, s exp(a/2)) exp(a/2) ds da
  double total = 0;
  for (double a = -8; a <= 8; a += 0.125)
    for (double s = -8; s <= 8; s += 0.125)
      total += std::exp(make_toy("funnel")->log_density(
                            Floats{static_cast<float>(a), static_cast<float>(s * std::exp(a / 2))}) +
                        a / 2) *
               0.125 * 0.125;
  EXPECT_NEAR(total, 1, 1e-6);
}

// X^2 more than 6 standard deviations above its mean: about 1e-6 of the seeds, its skewness included.
TEST(Toys, FrequenciesFollowTheDensity) {
  for (const std::string& name : kPlane) {
    const auto toy = make_toy(name);
    const Floats points = sample_toy(*toy, 20000, 3);
    const CellProbabilities cells = cells_of(name, *toy);
    EXPECT_LT(cells.excess(points), 6) << name;
    EXPECT_GT(cells.excess(points, 0.1), 6) << name << ": points moved by 0.1 are told apart";
  }
}

struct ToyCase {
  std::string word;
  uint32_t dimension = 0;
};

// Within 5 standard errors, and the draws have a density.
TEST(Toys, EntropyIsTheMeanOfMinusLogDensity) {
  std::vector<ToyCase> cases = {{"mixture", 1},  {"mixture", 2},  {"mixture", 5}, {"mixture", 32},
                                {"gaussian", 1}, {"gaussian", 7}, {"ising", 1},   {"ising:4", 12}};
  for (const std::string& name : kPlane) cases.push_back({name});
  for (const auto& [word, dimension] : cases) {
    const auto toy = make_toy(word, dimension);
    const Floats points = sample_toy(*toy, 10000, 11);
    std::vector<double> log_p(10000);
    toy_log_density(*toy, {points.data(), log_p.size(), toy->dimension()}, log_p);
    double mean = 0, square = 0;
    for (const double value : log_p) {
      ASSERT_TRUE(std::isfinite(value)) << word;
      mean -= value / 10000;
      square += value * value / 10000;
    }
    const double error = std::sqrt(std::max(0.0, square - mean * mean) / 10000);
    EXPECT_NEAR(mean, toy->entropy(), 5 * error + 1e-9) << word << " " << dimension;
  }
}

// In one dimension by quadrature: what the closed form leaves out is below 1e-5.
TEST(Toys, MixtureIsSpreadEnoughForItsClosedForm) {
  const auto toy = make_toy("mixture", 1);
  double total = 0, entropy = 0;
  for (double x = -100; x <= 100; x += 0.05) {
    const double log_p = toy->log_density(Floats{static_cast<float>(x)});
    total += 0.05 * std::exp(log_p);
    if (log_p > -700) entropy -= 0.05 * std::exp(log_p) * log_p;
  }
  EXPECT_NEAR(total, 1, 1e-6);
  EXPECT_NEAR(entropy, toy->entropy(), 1e-5);
}

TEST(Toys, GaussianHasUnitVariancesAndHalfCorrelations) {
  const auto toy = make_toy("gaussian", 3);
  // Precision of the chain with correlation 1/2, times 3/4: 1 -1/2 0; -1/2 5/4 -1/2; 0 -1/2 1.
  const double x = 0.3, y = -1.1, z = 0.7;
  const double form = (x * x + 1.25 * y * y + z * z - x * y - y * z) / 0.75;
  const double at = toy->log_density(Floats{0.3f, -1.1f, 0.7f}), origin = toy->log_density(Floats{0, 0, 0});
  EXPECT_NEAR(origin - at, form / 2, 1e-6);
  EXPECT_NEAR(origin, -1.5 * std::log(2 * std::numbers::pi) - std::log(0.75), 1e-12);
}

TEST(Toys, IsingByItsParameters) {
  constexpr uint32_t d = 4;
  const auto toy = make_toy("ising:9", d);
  const IsingParameters parameters = ising_parameters(d, 9);
  const double origin = toy->log_density(Floats(d, 0));
  const Floats points = sample_toy(*toy, 20000, 2);
  std::map<Floats, double> count;
  for (size_t i = 0; i < points.size(); i += d)
    count[Floats(points.begin() + static_cast<ptrdiff_t>(i),
                 points.begin() + static_cast<ptrdiff_t>(i + d))] += 1;
  double total = 0;
  for (uint32_t state = 0; state < 1u << d; ++state) {
    Floats x;
    for (uint32_t j = 0; j < d; ++j) x.push_back(static_cast<float>(state >> j & 1u));
    double score = 0;
    for (size_t i = 0, pair = 0; i < d; ++i) {
      score += parameters.bias[i] * double{x[i]};
      for (size_t j = i + 1; j < d; ++j) score += parameters.coupling[pair++] * double{x[i] * x[j]};
    }
    EXPECT_NEAR(toy->log_density(x) - origin, score, 1e-12);
    const double p = std::exp(toy->log_density(x));
    total += p;
    EXPECT_NEAR(count[x], 20000 * p, 5 * std::sqrt(20000 * p * (1 - p)) + 1) << state;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_EQ(toy->log_density(Floats{0, 0.5f, 0, 0}), -INFINITY);
  EXPECT_EQ(toy->support().levels, std::vector<uint32_t>(d, 2));
}

TEST(Toys, SameBitsForAnyThreads) {
  for (const std::string& name : toy_names()) {
    const auto toy = make_toy(name);
    const Floats points = sample_toy(*toy, 1000, 1);
    const Floats fewer = sample_toy(*toy, 600, 1);
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), points.begin())) << name;
    EXPECT_NE(sample_toy(*toy, 1000, 2), points) << name;
    const ThreadLimit one(1);
    EXPECT_EQ(sample_toy(*make_toy(name), 1000, 1), points) << name;
  }
  EXPECT_NE(sample_toy(*make_toy("ising:1"), 100, 1), sample_toy(*make_toy("ising:2"), 100, 1));
}

TEST(Toys, Edges) {
  const auto board = make_toy("checkerboard");
  EXPECT_EQ(board->log_density(Floats{4, 0.5f}), -INFINITY);
  EXPECT_EQ(board->log_density(Floats{-4, 0}), -std::log(32.0));
  EXPECT_EQ(board->log_density(Floats{0.1f, 2.1f}), -INFINITY);
  EXPECT_EQ(board->log_density(Floats{2.1f, 2.1f}), -std::log(32.0));
  for (const std::string& name : kPlane) {
    EXPECT_LT(make_toy(name)->log_density(Floats{1e18f, -1e18f}), -1e6) << name;
    EXPECT_FALSE(std::isnan(make_toy(name)->log_density(Floats{0, 0}))) << name;
  }
}

TEST(Toys, Errors) {
  const auto error = [](const std::string& word, uint32_t dimension) -> std::string {
    try {
      make_toy(word, dimension);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_TRUE(error("moon", 0).starts_with("toy 'moon' is not known; expected one of checkerboard, "));
  EXPECT_TRUE(error("ring:2", 0).starts_with("toy 'ring:2' is not known"));
  EXPECT_EQ(error("ring", 3), "toy ring in 3 dimensions: expected 2");
  EXPECT_EQ(error("ising", 21), "toy ising in 21 dimensions: expected 1 to 20");
  EXPECT_EQ(error("ising:x", 3), "toy 'ising:x': expected ising or ising:SEED with a whole number");
  EXPECT_EQ(error("ising:", 3), "toy 'ising:': expected ising or ising:SEED with a whole number");
}

}  // namespace
}  // namespace selfnorm
