#include "family/density/density_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/points/direction_map.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "proposal/density/make_density.h"
#include "proposal/density/products.h"
#include "small_models.h"

namespace selfnorm {
namespace {

// u ~ N(0, 1) with x = 10 + 4 u in the first and x = -3 + 0.5 u in the second column.
DensityModel standardised_normal(double b) {
  DensityModel model = small_model(quadratic({0, 0}, {1, 1}), std::make_shared<SmallNormal>(2, 0, 1.2), b);
  model.standardisation = {{10, -3}, {4, 0.5}};
  return model;
}

double log_density(float x, float y) {
  const double u = (static_cast<double>(x) - 10) / 4, v = (static_cast<double>(y) + 3) / 0.5;
  return -(u * u + v * v) / 2 - log_normal_volume(4) - log_normal_volume(0.5);
}

std::vector<float> normal_rows(uint64_t n) {
  RandomStream random(5);
  std::vector<float> rows;
  for (uint64_t i = 0; i < n; ++i) {
    rows.push_back(static_cast<float>(10 + 4 * random.normal()));
    rows.push_back(static_cast<float>(-3 + 0.5 * random.normal()));
  }
  return rows;
}

TEST(DensityEvaluation, NllInTheUnitsOfTheData) {
  const double log_z = 2 * log_normal_volume(1), b = log_z + 0.25;
  const DensityModel model = standardised_normal(b);
  const std::vector<float> rows = normal_rows(20'000);
  double mean = 0, square = 0;
  for (size_t i = 0; i < 20'000; ++i) {
    const double loss = -log_density(rows[2 * i], rows[2 * i + 1]);
    mean += loss / 20'000;
    square += loss * loss / 20'000;
  }
  const DensityEvaluation e = evaluate_density(model, *make_point_source(2, rows), {});
  EXPECT_EQ(e.rows, 20'000u);
  EXPECT_EQ(e.outside, 0u);
  EXPECT_EQ(e.log_z.method, "quadrature");
  EXPECT_TRUE(e.is_trusted);
  EXPECT_NEAR(e.nll, mean, 1e-3);
  EXPECT_LE(e.nll_low, e.nll);
  EXPECT_GE(e.nll_high, e.nll);
  EXPECT_NEAR(e.nll_high - e.nll_low, e.log_z.high - e.log_z.low, 1e-12);
  EXPECT_NEAR(e.nll_error, std::sqrt((square - mean * mean) / 20'000), 1e-5);
  EXPECT_NEAR(e.nll_b, mean + 0.25, 1e-4);
  EXPECT_NEAR(e.log_ratio, -0.25, 1e-3);
  // log-likelihood - (b - log Z) - exp(log Z - b) + 1, below it and equal to it at b = log Z.
  EXPECT_NEAR(e.snl_bound, -mean - 0.25 - std::exp(-0.25) + 1, 1e-3);
  EXPECT_LT(e.snl_bound, -e.nll);
}

TEST(DensityEvaluation, ScoresUseB) {
  const DensityModel model = standardised_normal(2 * log_normal_volume(1));
  const std::vector<float> rows = {10, -3, 14, -2.5f, 0, 0};
  const std::vector<double> scores = density_scores(model, {rows.data(), 3, 2});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(scores[i], log_density(rows[2 * i], rows[2 * i + 1]), 1e-4);
}

TEST(DensityEvaluation, BinaryRowsByEnumeration) {
  const SmallEnergy energy = cycle(4, 2, 0.3, -0.6);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()), 1);
  std::vector<float> all;
  LogSumExp z;
  double mean = 0;
  for_each_point(energy.support(), [&](std::span<const float> x) {
    double s = 0;
    energy.score({x.data(), 1, 4}, {&s, 1});
    z.add(s);
    mean += s / 16;
    all.insert(all.end(), x.begin(), x.end());
  });
  const DensityEvaluation e = evaluate_density(model, *make_point_source(4, all), {});
  EXPECT_NEAR(e.nll, z.value() - mean, 1e-9);
  EXPECT_EQ(e.nll_low, e.nll_high);
}

// Over every point, for energies of any size.
TEST(DensityEvaluation, ExactProbabilitiesOfBinaryRowsSumToOne) {
  for (const double size : {1.0, 1e4, 1e9, 1e30}) {
    const SmallEnergy energy = cycle(4, 2, size, -2 * size);
    const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()), 1);
    std::vector<float> all;
    for_each_point(energy.support(),
                   [&](std::span<const float> x) { all.insert(all.end(), x.begin(), x.end()); });
    double sum = 0;
    for (const double log_p : density_scores(model, {all.data(), 16, 4}, judged_log_z(model, {}).estimate)) {
      EXPECT_LE(log_p, 0);
      sum += std::exp(log_p);
    }
    EXPECT_NEAR(sum, 1, 1e-9) << size;
    // 0101 and 1010 are the best
    const std::vector<float> best{0, 1, 0, 1};
    const double nll = evaluate_density(model, *make_point_source(4, best), {}).nll;
    EXPECT_NEAR(nll, size > 1 ? std::log(2.0) : nll, 1e-9) << size;
  }
}

TEST(DensityEvaluation, FewEffectiveSamplesAreNotTrusted) {
  const DensityModel model = small_model(quadratic(std::vector<double>(5, 2), std::vector<double>(5, 0.2)),
                                         std::make_shared<SmallNormal>(5, 0, 1));
  const auto data = make_point_source(5, std::vector<float>(10, 2));
  const DensityEvaluation e = evaluate_density(model, *data, {.method = "importance", .samples = 2000});
  EXPECT_FALSE(e.is_trusted);
  EXPECT_NE(e.distrust.find("proposal"), std::string::npos);
}

// f has a standard deviation of 5 under counts that no chain walks over, and the data are of 0.35 f: no draws
// normalise f, those of a part of it do, and that part is better than the base.
TEST(DensityEvaluation, AnEnergyTooLargeForItsProposalIsServedSmaller) {
  constexpr uint32_t d = 8;
  constexpr uint64_t n = 20'000;
  const auto base = std::make_shared<CountProduct>(std::vector<double>(d, 4), std::vector<double>(d, 400));
  std::vector<float> rows(n * d);
  sample_density(*base, 3, rows, {});
  EnergyRecord record = make_mlp(d, {.widths = {16}}, 3)->record();
  std::vector<double> f(n);
  make_mlp(record)->score({rows.data(), n, d}, f);
  double mean = 0, square = 0;
  for (const double v : f) mean += v / n;
  for (const double v : f) square += (v - mean) * (v - mean) / n;
  for (EnergyTensor& tensor : record.tensors)
    for (float& weight : tensor.values)
      if (tensor.name == "output.weight") weight *= static_cast<float>(5 / std::sqrt(square));
  double most = -HUGE_VAL;
  for (double& v : f) most = std::max(most, v = 0.35 * 5 * (v - mean) / std::sqrt(square));
  RandomStream random(4);
  std::vector<float> held_out;
  while (held_out.size() < 400 * d) {
    const uint64_t i = random.below(n);
    if (random.uniform() < std::exp(f[i] - most))
      held_out.insert(held_out.end(), rows.begin() + static_cast<ptrdiff_t>(i * d),
                      rows.begin() + static_cast<ptrdiff_t>((i + 1) * d));
  }
  const auto data = make_point_source(d, held_out);
  DensityModel model;
  model.base = model.proposal = base;
  model.energy = std::make_unique<TiltedEnergy>(make_zero_energy(d), base);
  const double of_base = evaluate_density(model, *data, {}).nll;
  model.energy = std::make_unique<TiltedEnergy>(make_mlp(record), base);
  DensityEvaluation settled = evaluate_density(model, *data, {});
  ASSERT_FALSE(settled.is_trusted);
  const std::string text = keep_proposal(model, *data, settled);
  EXPECT_NE(text.find("of it is, and that is the model"), std::string::npos) << text;
  EXPECT_TRUE(settled.is_trusted);
  EXPECT_LT(settled.nll, of_base - 0.2);
  EXPECT_EQ(model.log_normalizer, settled.log_z.value);
  const DensityEvaluation again = evaluate_density(model, *data, {.seed = 7});
  EXPECT_TRUE(again.is_trusted) << again.distrust;
  EXPECT_NEAR(again.nll, settled.nll, 0.05);
}

TEST(DensityEvaluation, RowsOutsideTheSupport) {
  const DensityModel model = small_model(quadratic({0}, {1}, 0, Support::box({0}, {1})),
                                         std::make_shared<SmallUniform>(Support::box({0}, {1})));
  const DensityEvaluation e = evaluate_density(model, *make_point_source(1, {0.5f, 2, 0.25f}), {});
  EXPECT_EQ(e.outside, 1u);
  EXPECT_FALSE(e.is_trusted);
  EXPECT_TRUE(std::isinf(e.nll) && e.nll > 0);
  EXPECT_NE(e.distrust.find("the first is 1"), std::string::npos);
  const float outside = 2;
  EXPECT_EQ(density_scores(model, {&outside, 1, 1})[0], -HUGE_VAL);
}

TEST(DensityEvaluation, LevelsThatTrainingDidNotSee) {
  const SmallEnergy energy = cycle(2, 2, 0.3, -0.6);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()));
  const DensityEvaluation e = evaluate_density(model, *make_point_source(2, {0, 1, 2, 1}), {});
  EXPECT_EQ(e.outside, 1u);
  EXPECT_NE(e.distrust.find("train on rows with all values"), std::string::npos) << e.distrust;
}

TEST(DensityEvaluation, TheSameBitsForAnyNumberOfThreads) {
  const DensityModel model = standardised_normal(0);
  const auto data = make_point_source(2, normal_rows(1000));
  const DensityEvaluationOptions options{.method = "importance", .samples = 20'000};
  double first = 0;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    const double nll = evaluate_density(model, *data, options).nll;
    if (threads == 1) first = nll;
    EXPECT_EQ(nll, first);
  }
}

// What the hint says can be asked for.
TEST(DensityEvaluation, SimpleModelsOfABoxAndOfTheSphere) {
  const std::vector<uint64_t> train{0, 1, 2, 3, 4, 5, 6, 7}, held_out{8, 9};
  std::vector<float> rows;
  for (int i = 0; i < 10; ++i) {
    rows.push_back(0.3f * static_cast<float>(i));
    rows.push_back(0.05f * static_cast<float>(i * i % 7));
  }
  const auto data = make_point_source(2, rows);
  const auto simple = [&](const Support& space, const std::string& word) {
    const DensityModel model =
        small_model(quadratic({0, 0}, {1, 1}), fit_density(word, {rows.data(), 10, 2}, {.space = space}));
    return simple_density(model, *data, train, held_out, 1);
  };
  const SimpleModel box = simple(Support::box({-1, -1}, {4, 2}), "mixture:2");
  EXPECT_EQ(box.name, "a Gaussian mixture");
  EXPECT_EQ(box.advice, "objective fit proposal mixture is that one");
  const SimpleModel sphere = simple(DirectionMap::sphere().support(), "directions:1");
  EXPECT_EQ(sphere.name, "a mixture of directions");
  EXPECT_EQ(sphere.advice, "objective fit proposal directions is that one");
  const SimpleModel mixed = simple(Support::mixed({0, 0}, {true, false}), "directions:1");
  EXPECT_EQ(mixed.name, "a mixture of directions");
}

TEST(DensityEvaluation, ImpossibleInputs) {
  const DensityModel model = standardised_normal(0);
  EXPECT_THROW(evaluate_density(model, *make_point_source(3, {1, 2, 3}), {}), Error);
  EXPECT_THROW(evaluate_density(model, *make_point_source(2, {}), {}), Error);
  EXPECT_THROW(density_scores(model, {nullptr, 0, 3}), Error);
  const SmallEnergy broken(1, Support::reals(), [](std::span<const float>, std::span<double>) {
    return std::numeric_limits<double>::quiet_NaN();
  });
  const DensityModel bad = small_model(broken, std::make_shared<SmallNormal>(1, 0, 1));
  EXPECT_THROW(evaluate_density(bad, *make_point_source(1, {1}), {}), Error);
}

}  // namespace
}  // namespace selfnorm
