#include "family/density/train/autoregressive_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "family/density/density_evaluation.h"
#include "family/density/density_sample.h"
#include "family/density/train/density_trainer.h"
#include "interrupter.h"
#include "math/random.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLineWidth = 0.3;

// x ~ half N(-2, 0.5), half N(1, 1); y = sin 2x + N(0, 0.3); z uniform on [0, 1]: its truth, row by row.
struct LineTruth {
  std::vector<float> values;
  double nll = 0;  // mean of -log p
};
LineTruth line_truth(uint64_t rows, uint32_t columns, uint64_t seed) {
  RandomStream random(seed);
  const auto normal = [](double v, double mean, double width) {
    const double z = (v - mean) / width;
    return std::exp(-0.5 * z * z) / (width * std::sqrt(2 * M_PI));
  };
  LineTruth out;
  for (uint64_t i = 0; i < rows; ++i) {
    const double x = random.uniform() < 0.5 ? -2 + 0.5 * random.normal() : 1 + random.normal();
    const double y = std::sin(2 * x) + kLineWidth * random.normal();
    double p = 0.5 * normal(x, -2, 0.5) + 0.5 * normal(x, 1, 1);
    out.values.push_back(static_cast<float>(x));
    if (columns > 1) {
      p *= normal(y, std::sin(2 * x), kLineWidth);
      out.values.push_back(static_cast<float>(y));
    }
    if (columns > 2) out.values.push_back(static_cast<float>(random.uniform()));
    out.nll -= std::log(p) / static_cast<double>(rows);
  }
  return out;
}

DensityOptions quick_lines() {
  DensityOptions o;
  o.energy = "autoregressive:24,24";
  o.proposal = "gaussian";
  o.batch = 128;
  o.samples = 1024;
  o.steps = 800;
  o.learning_rate = 5e-3;
  return o;
}

void expect_same_lines(const DensityModel& a, const DensityModel& b) {
  const auto before = std::as_const(*a.energy).parameters(), after = std::as_const(*b.energy).parameters();
  EXPECT_EQ(std::vector(before.begin(), before.end()), std::vector(after.begin(), after.end()));
}

class KnownLines : public testing::TestWithParam<uint32_t> {};

TEST_P(KnownLines, IsLearned) {
  const uint32_t columns = GetParam();
  const LineTruth seen = line_truth(3000, columns, 1), fresh = line_truth(3000, columns, 2);
  const auto data = make_point_source(columns, std::vector(seen.values));
  TrainObserver observer;
  const DensityResult found =
      train_density(*data, numbers(0, 2700), numbers(2700, 3000), quick_lines(), {}, observer);
  const auto test = make_point_source(columns, std::vector(fresh.values));
  const DensityEvaluation e = evaluate_density(found.model, *test, {});
  EXPECT_TRUE(e.is_trusted);
  EXPECT_EQ(e.log_z.method, "quadrature");
  EXPECT_NEAR(e.nll, fresh.nll, 0.06 * columns);
  EXPECT_GT(e.nll, fresh.nll - 0.01);  // nobody is better than the truth by more than chance
  // b stands for A, and SNL is a bound.
  EXPECT_LT(e.rms, 0.2);
  EXPECT_LE(e.snl_bound, -e.nll + 1e-9);
  EXPECT_NEAR(e.nll_b + e.log_ratio, e.nll, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Columns, KnownLines, testing::Values(1, 2, 3));

// The draws are those of the data.
TEST(AutoregressiveTraining, DrawsFollowTheData) {
  const LineTruth seen = line_truth(3000, 2, 1);
  const auto data = make_point_source(2, std::vector(seen.values));
  TrainObserver observer;
  const DensityModel model =
      train_density(*data, numbers(0, 2700), numbers(2700, 3000), quick_lines(), {}, observer).model;
  const DensitySample drawn = sample_density_model(model, {.count = 3000, .seed = 4});
  EXPECT_EQ(drawn.method, "ancestral");
  EXPECT_EQ(sample_doubt(drawn, 3000), "");
  double x = 0, off = 0;
  for (size_t r = 0; r < 3000; ++r) {
    x += double{drawn.rows[2 * r]} / 3000;
    off += std::pow(double{drawn.rows[2 * r + 1]} - std::sin(2 * double{drawn.rows[2 * r]}), 2) / 3000;
  }
  EXPECT_NEAR(x, -0.5, 0.15);
  EXPECT_NEAR(off, kLineWidth * kLineWidth, 0.4 * kLineWidth * kLineWidth);
}

// The gradient of a step against differences of its loss: of mixtures alone all of it; of f, its context and
// b, whose change leaves the draws where they are, once f is trained.
TEST(AutoregressiveTraining, GradientsAreDifferencesOfTheLoss) {
  const LineTruth seen = line_truth(200, 2, 1);
  const auto data = make_point_source(2, std::vector(seen.values));
  DensityOptions options = quick_lines();
  options.energy = "autoregressive:5";
  options.batch = 40;
  options.samples = 160;
  options.steps = 100;
  const std::vector<uint64_t> rows = numbers(0, 200);
  DensityProblem problem(*data, rows, {}, options);
  TrainObserver observer;
  auto& energy = dynamic_cast<AutoregressiveEnergy&>(problem.energy());
  AutoregressiveTraining training(problem, energy, options, rows, {}, observer);
  RandomStream random(7);
  const std::span<float> theta = energy.parameters();
  for (float& v : theta) v += static_cast<float>(0.1 * random.normal());
  energy.parameters_changed();
  const auto check = [&](uint64_t at, std::initializer_list<size_t> parts) {
    ASSERT_EQ(training.gradient(at).kind, Step::Kind::moved);
    const std::vector<float> gradient(training.gradient_values().begin(), training.gradient_values().end());
    constexpr float kChange = 2e-3f;
    for (uint32_t column = 0; column < 2; ++column)
      for (const size_t part : parts) {
        const size_t block = AutoregressiveEnergy::kParts * column + part;
        const size_t begin = energy.blocks().offset(block);
        const size_t size = energy.blocks().part(theta, block).size();
        double largest = 0;
        for (size_t i = begin; i < begin + size; i += std::max<size_t>(1, size / 12)) {
          const float kept = theta[i];
          double loss[2];
          for (const int side : {0, 1}) {
            theta[i] = side == 0 ? kept - kChange : kept + kChange;
            energy.parameters_changed();
            training.gradient(at);
            loss[side] = training.loss();
          }
          theta[i] = kept;
          energy.parameters_changed();
          const double difference = (loss[1] - loss[0]) / (2.0 * double{kChange});
          EXPECT_NEAR(gradient[i], difference, 2e-3 + 0.02 * std::abs(difference)) << at << " " << block;
          largest = std::max(largest, std::abs(difference));
        }
        EXPECT_GT(largest, 1e-3) << at << " " << block;
      }
  };
  check(0, {0, 1});      // features, mixture_head
  check(99, {2, 3, 4});  // context, tilt, normalizer
}

TEST(AutoregressiveTraining, ResumesToTheSameBitsOnAnyThreads) {
  const auto data = make_point_source(3, line_truth(600, 3, 1).values);
  DensityOptions options = quick_lines();
  options.energy = "autoregressive:8";
  options.steps = 120;
  options.threads = 1;
  const std::vector<uint64_t> train = numbers(0, 500), valid = numbers(500, 600);
  TrainObserver observer;
  const DensityResult whole = train_density(*data, train, valid, options, {}, observer);
  options.threads = 2;
  int sessions = 0;
  const std::string path = testing::TempDir() + "autoregressive_resume";
  std::filesystem::remove(path);
  const DensityResult parts = finished_in_sessions(
      [&](TrainObserver& interrupter, bool resume) {
        return train_density(*data, train, valid, options, {.path = path, .seconds = 1e9, .resume = resume},
                             interrupter);
      },
      17, sessions);
  EXPECT_GT(sessions, 3);
  expect_same_lines(parts.model, whole.model);
}

// Columns are kept each for itself: what is kept has the sum of the least losses that were seen.
TEST(AutoregressiveTraining, WithoutHeldOutRowsTheLastAverageIsKept) {
  const auto data = make_point_source(2, line_truth(600, 2, 1).values);
  DensityOptions options = quick_lines();
  options.steps = 60;
  TrainObserver observer;
  const DensityResult found = train_density(*data, numbers(0, 600), {}, options, {}, observer);
  EXPECT_FALSE(found.diverged);
  EXPECT_TRUE(evaluate_density(found.model, *data, {}).is_trusted);
}

// A rate at which nothing can be learned: what is kept is finite, and no worse than the start.
TEST(AutoregressiveTraining, LostColumnsEndARunAndKeepWhatTheyWere) {
  const auto data = make_point_source(2, line_truth(600, 2, 1).values);
  DensityOptions options = quick_lines();
  options.steps = 200;
  const auto trained = [&](double rate) {
    options.learning_rate = rate;
    TrainObserver observer;
    return train_density(*data, numbers(0, 600), {}, options, {}, observer);
  };
  const DensityResult found = trained(1e6);
  EXPECT_TRUE(found.diverged);
  EXPECT_NE(found.reason.find("infinite or NaN"), std::string::npos) << found.reason;
  const double start = evaluate_density(trained(1e-12).model, *data, {}).nll;
  EXPECT_LE(evaluate_density(found.model, *data, {}).nll, start + 1e-3);
}

// Eight columns of numbers and an energy that is left to the data: two are trained, with one checkpoint.
TEST(AutoregressiveTraining, RacesAnEnergyOfAllColumns) {
  RandomStream random(1);
  std::vector<float> values;
  for (int i = 0; i < 1300; ++i) {
    for (int j = 0; j < 7; ++j) values.push_back(static_cast<float>(random.normal()));
    const double product = double{values[values.size() - 7]} * double{values[values.size() - 6]};
    values.push_back(static_cast<float>(product + 0.05 * random.normal()));
  }
  const auto data = make_point_source(8, std::move(values));
  DensityOptions options;
  options.steps = 60;
  options.samples = 256;
  options.normalizer_steps = 5;
  options.patience = 0;
  const std::vector<uint64_t> train = numbers(0, 1100), valid = numbers(1100, 1300);
  TrainObserver observer;
  const DensityResult whole = train_density(*data, train, valid, options, {}, observer);
  EXPECT_NE(whole.choice.find("of an autoregressive energy"), std::string::npos) << whole.choice;
  const bool has_won = whole.choice.find("the model is the autoregressive one") != std::string::npos;
  EXPECT_EQ(whole.model.energy->record().kind == "autoregressive", has_won);
  EXPECT_EQ(whole.model.base == nullptr, has_won);

  const std::string path = testing::TempDir() + "autoregressive_race";
  std::filesystem::remove(path);
  Interrupter interrupter(90);  // in the second
  EXPECT_TRUE(train_density(*data, train, valid, options, {.path = path, .seconds = 1e9, .resume = false},
                            interrupter)
                  .interrupted);
  const DensityResult rest =
      train_density(*data, train, valid, options, {.path = path, .seconds = 1e9, .resume = true}, observer);
  expect_same_lines(rest.model, whole.model);
  EXPECT_EQ(rest.choice, whole.choice);
}

TEST(AutoregressiveTraining, WhatItCannotTakeIsSaid) {
  const auto data = make_point_source(2, line_truth(100, 2, 1).values);
  const std::vector<uint64_t> rows = numbers(0, 100);
  const auto message = [&](const PointSource& points, const DensityOptions& options) {
    TrainObserver observer;
    try {
      train_density(points, rows, {}, options, {}, observer);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  DensityOptions other = quick_lines();
  other.objective = "nce";
  EXPECT_NE(message(*data, other).find("snl"), std::string::npos);
  RandomStream random(1);
  std::vector<float> bits(200);
  for (float& v : bits) v = random.uniform() < 0.5 ? 0.0f : 1.0f;
  EXPECT_NE(message(*make_point_source(2, bits), quick_lines()).find("real numbers"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
