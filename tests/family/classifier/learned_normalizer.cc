#include "family/classifier/learned_normalizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "model/normalizer_network.h"
#include "random_data.h"

namespace selfnorm {
namespace {

ObjectiveOptions with(const std::string& normalizer, uint32_t hidden = 16) {
  ObjectiveOptions options;
  options.name = "snl";
  options.normalizer = normalizer;
  options.normalizer_hidden = hidden;
  return options;
}

// E of snl's derivative by b where the log-normalizers are known: 1 - exp(A - b); steps at Newton's rate.
template <class Real>
void learn(LearnedNormalizer<Real>& b, const Features& x, const std::vector<double>& log_z, int steps) {
  for (int step = 0; step < steps; ++step) {
    std::vector<double> d = b.values(x, nullptr);
    for (size_t i = 0; i < d.size(); ++i) d[i] = 1 - std::exp(log_z[i] - d[i]);
    b.update(x, nullptr, d, 1);
  }
}

double largest_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double error = 0;
  for (size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i] - expected[i]));
  return error;
}

Features scaled(const Dataset& data, float factor) {
  Features x = data.features;
  for (float& v : x.dense.values) v *= factor;
  for (float& v : x.sparse.value.own()) v *= factor;
  return x;
}

// intercept + v . x with a standard deviation of about 1.
std::vector<double> linear_target(const Features& x, double intercept) {
  AmortisedNormalizer truth;
  truth.intercept = intercept;
  truth.slope = random_vector<float>(x.columns(), 3);
  std::vector<double> values = values_of(truth, x);
  double squares = 0;
  for (const double v : values) squares += (v - intercept) * (v - intercept);
  const double rms = std::sqrt(squares / static_cast<double>(values.size()));
  for (double& v : values) v = intercept + (v - intercept) / rms;
  return values;
}

TEST(LearnedNormalizer, StartsAtTheSameValueForEveryInput) {
  const Dataset data = random_dataset({.rows = 9, .features = 4, .sparse = true}, 1);
  for (const std::string normalizer : {"zero", "constant", "linear", "mlp"}) {
    const LearnedNormalizer<double> b(with(normalizer), 4, 2.5, 1);
    const double start = normalizer == "zero" ? 0 : 2.5;
    EXPECT_EQ(b.constant(), start) << normalizer;
    EXPECT_EQ(b.values(data.features, nullptr), std::vector<double>(9, start)) << normalizer;
    EXPECT_EQ(b.is_function(), normalizer == "linear" || normalizer == "mlp");
    ModelFile model;
    b.store(model);
    EXPECT_EQ(model.log_normalizer, start);
    EXPECT_EQ(model.normalizer.exists(), b.is_function());
  }
}

TEST(LearnedNormalizer, ObjectivesWithoutOneLearnNone) {
  for (const std::string objective : {"ranking-nce", "is", "penalty"}) {
    ObjectiveOptions options = with("linear");
    options.name = objective;
    EXPECT_FALSE(learns_normalizer(options));
    const LearnedNormalizer<float> b(options, 3, 2, 1);
    EXPECT_FALSE(b.is_function());
    EXPECT_EQ(b.constant(), 0);
  }
}

TEST(LearnedNormalizer, ZeroStaysZero) {
  const Dataset data = random_dataset({.rows = 3, .features = 2}, 1);
  LearnedNormalizer<float> b(with("zero"), 2, 5, 1);
  learn(b, data.features, {1, 2, 3}, 5);
  EXPECT_EQ(b.constant(), 0);
}

// A constant log Z, from above and from far below, to 3 digits; b cannot be one when log Z varies: there
// E exp(A - b) = 1.
TEST(LearnedNormalizer, ConstantReachesLogZ) {
  const Dataset data = random_dataset({.rows = 4, .features = 2}, 1);
  for (const double start : {-3.0, 9.0}) {
    LearnedNormalizer<double> b(with("constant"), 2, start, 1);
    learn(b, data.features, std::vector<double>(4, 2.345), 200);
    EXPECT_NEAR(b.constant(), 2.345, 1e-3);
    learn(b, data.features, {1, 2, 3, 4}, 400);
    EXPECT_NEAR(b.constant(), std::log((std::exp(1) + std::exp(2) + std::exp(3) + std::exp(4)) / 4), 1e-3);
  }
}

// The same number of steps whatever the size of x.
TEST(LearnedNormalizer, LinearReachesALinearLogZForInputsOfAnySize) {
  for (const bool sparse : {false, true}) {
    const Dataset data = random_dataset({.rows = 60, .features = 6, .sparse = sparse}, 2);
    for (const float size : {0.01f, 1.0f, 100.0f}) {
      const Features x = scaled(data, size);
      const std::vector<double> log_z = linear_target(x, 4);
      LearnedNormalizer<double> b(with("linear"), 6, 0, 1);
      learn(b, x, log_z, 600);
      EXPECT_LT(largest_error(b.values(x, nullptr), log_z), 1e-3) << sparse << " " << size;
    }
  }
}

// log Z(x) = log(2 cosh x) has no linear form.
TEST(LearnedNormalizer, MlpReachesACurvedLogZ) {
  Features x;
  x.is_sparse = false;
  x.dense = {.rows = 5, .columns = 1, .values = {-2, -1, 0, 1, 2}};
  for (const float size : {0.1f, 10.0f}) {
    std::vector<double> log_z;
    for (float& v : x.dense.values) {
      log_z.push_back(1 + std::log(2 * std::cosh(static_cast<double>(v))));
      v *= size;
    }
    LearnedNormalizer<double> linear(with("linear"), 1, 0, 1), mlp(with("mlp", 64), 1, 0, 1);
    learn(linear, x, log_z, 500);
    learn(mlp, x, log_z, 10000);
    EXPECT_GT(largest_error(linear.values(x, nullptr), log_z), 0.3) << size;
    EXPECT_LT(largest_error(mlp.values(x, nullptr), log_z), 1e-3) << size;
    for (float& v : x.dense.values) v /= size;
  }
}

// One example in a hundred uses the second feature: it moves as fast as one that all use.
TEST(LearnedNormalizer, RareFeaturesMoveAsFastAsFrequentOnes) {
  Features x;
  x.sparse.columns = 2;
  std::vector<double> log_z;
  for (int i = 0; i < 100; ++i) {
    x.sparse.column.push_back(i == 0 ? 1 : 0);
    x.sparse.value.push_back(1);
    x.sparse.begin.push_back(x.sparse.column.size());
    log_z.push_back(i == 0 ? 5 : 1);
  }
  LearnedNormalizer<double> b(with("linear"), 2, 1, 1);
  learn(b, x, log_z, 100);
  EXPECT_LT(largest_error(b.values(x, nullptr), log_z), 1e-2);
}

// A feature that no example uses keeps its parameters, the others move.
TEST(LearnedNormalizer, UpdatesAreLazy) {
  const Dataset data = random_dataset({.rows = 5, .features = 2, .sparse = true, .density = 1}, 1);
  const FeatureMap map{{3, 7}};
  for (const std::string normalizer : {"linear", "mlp"}) {
    LearnedNormalizer<float> b(with(normalizer, 3), 10, 1, 1);
    const std::vector<double> d{1, 0.5, -1, 0.5, 1};
    b.update(data.features, &map, d, 0.1);
    const AmortisedNormalizer before = b.function();
    b.update(data.features, &map, d, 0.1);
    const AmortisedNormalizer after = b.function();
    for (uint32_t j = 0; j < 10; ++j) {
      EXPECT_EQ(before.slope[j] != after.slope[j], j == 3 || j == 7);
      for (uint32_t k = 0; k < after.hidden(); ++k) {
        if (j != 3 && j != 7) {
          EXPECT_EQ(before.hidden_weight[k * 10 + j], after.hidden_weight[k * 10 + j]);
        }
      }
    }
  }
}

// Without the function the constant alone is right on average.
TEST(LearnedNormalizer, StoresTheMeanAndWhatIsLeft) {
  Dataset data = random_dataset({.rows = 50, .features = 3}, 5);
  for (float& v : data.features.dense.values) v += 1;
  const std::vector<double> log_z = linear_target(data.features, 2);
  double mean = 0;
  for (const double a : log_z) mean += a / 50;
  for (const std::string normalizer : {"linear", "mlp"}) {
    LearnedNormalizer<double> b(with(normalizer, 4), 3, 0, 1);
    learn(b, data.features, log_z, 3000);
    ModelFile model;
    b.store(model);
    EXPECT_NEAR(model.log_normalizer, mean, 2e-3) << normalizer;
    std::vector<double> sum = values_of(model.normalizer, data.features);
    for (double& v : sum) v += model.log_normalizer;
    EXPECT_LT(largest_error(sum, b.values(data.features, nullptr)), 1e-5) << normalizer;
  }
}

// Derivatives of snl that are noisy and skewed (exp of a normal) do not move b away from log Z as clipping
// each of them would: a standard deviation of r of 1.3, 100 examples at once.
TEST(LearnedNormalizer, SkewedNoiseLeavesTheConstantAtLogZ) {
  const Dataset data = random_dataset({.rows = 100, .features = 1}, 1);
  LearnedNormalizer<double> b(with("constant"), 1, 0, 1);
  RandomStream random(7);
  for (int step = 0; step < 4000; ++step) {
    std::vector<double> d;
    for (int i = 0; i < 100; ++i) d.push_back(1 - std::exp(random.normal() - 0.5 + 1.5 - b.constant()));
    b.update(data.features, nullptr, d, 0.1 * (1 - step / 4000.0));
  }
  EXPECT_NEAR(b.constant(), 1.5, 0.03);
}

TEST(LearnedNormalizer, ACheckpointContinuesWithTheSameBitsOnAnyNumberOfThreads) {
  const Dataset data = random_dataset({.rows = 30, .features = 300}, 5);
  const std::vector<double> log_z(30, 1);
  for (const std::string normalizer : {"constant", "linear", "mlp"}) {
    const auto run = [&](int threads, bool interrupted) {
      const ThreadLimit limit(threads);
      LearnedNormalizer<float> b(with(normalizer, 40), 300, 0, 1);
      learn(b, data.features, log_z, 3);
      if (!interrupted) {
        learn(b, data.features, log_z, 3);
        return std::pair(b.constant(), b.values(data.features, nullptr));
      }
      Checkpoint checkpoint;
      CheckpointFields written(checkpoint);
      b.state(written);
      LearnedNormalizer<float> continued(with(normalizer, 40), 300, 0, 1);
      CheckpointFields read(std::as_const(checkpoint));
      continued.state(read);
      learn(continued, data.features, log_z, 3);
      return std::pair(continued.constant(), continued.values(data.features, nullptr));
    };
    EXPECT_EQ(run(1, false), run(4, false)) << normalizer;
    EXPECT_EQ(run(1, false), run(4, true)) << normalizer;
  }
}

}  // namespace
}  // namespace selfnorm
