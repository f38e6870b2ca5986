#include "family/classifier/normalize/amortise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/dataset.h"
#include "model/normalizer_network.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

struct AmortisedProblem {
  std::unique_ptr<ExampleSource> source;
  std::vector<double> log_z;

  AmortisedFit fit(const AmortiseOptions& options) const { return fit_amortised(*source, log_z, options); }
};

template <class LogZ>
AmortisedProblem problem(Dataset data, const LogZ& log_z) {
  AmortisedProblem out;
  for (uint64_t i = 0; i < data.features.rows(); ++i) out.log_z.push_back(log_z(data.features, i));
  out.source = make_example_source(std::move(data));
  return out;
}

double linear_score(const Features& x, uint64_t row, std::span<const double> w) {
  double s = 0;
  for_each_entry(x, row, [&](uint32_t j, float v) { s += w[j] * static_cast<double>(v); });
  return s;
}

// log sum_k exp(w_k . x) of a random head.
AmortisedProblem softmax_problem(const RandomShape& shape, double scale) {
  const std::vector<double> w = random_vector<double>(size_t{shape.classes} * shape.features, 5, scale);
  return problem(random_dataset(shape, 6), [&](const Features& x, uint64_t i) {
    LogSumExp sum;
    for (size_t k = 0; k < shape.classes; ++k)
      sum.add(linear_score(x, i, std::span(w).subspan(k * shape.features, shape.features)));
    return sum.value();
  });
}

AmortisedProblem linear_problem(const RandomShape& shape) {
  const std::vector<double> w = random_vector<double>(shape.features, 3);
  return problem(random_dataset(shape, 4),
                 [&](const Features& x, uint64_t i) { return 7.25 + linear_score(x, i, w); });
}

AmortiseOptions mlp(uint32_t hidden = 64) {
  AmortiseOptions options;
  options.kind = "mlp";
  options.network.hidden = hidden;
  return options;
}

TEST(Amortise, RecoversALinearLogNormalizer) {
  for (const bool sparse : {false, true}) {
    const AmortisedFit fit = linear_problem({.rows = 300, .features = 8, .sparse = sparse}).fit({});
    const std::vector<double> w = random_vector<double>(8, 3);
    EXPECT_EQ(fit.normalizer.hidden(), 0u);
    EXPECT_NEAR(fit.normalizer.intercept, 7.25, 1e-6);
    for (size_t j = 0; j < 8; ++j) EXPECT_NEAR(static_cast<double>(fit.normalizer.slope[j]), w[j], 1e-6);
    EXPECT_EQ(fit.examples, 270u);
    EXPECT_EQ(fit.held_out, 30u);
    EXPECT_LT(fit.rms_training, 1e-6);
    EXPECT_LT(fit.rms_held_out, 1e-6);
    EXPECT_EQ(fit.rms_linear, fit.rms_held_out);
  }
}

// What the linear fit explains to rounding is left to it, and hidden units never make it worse.
TEST(Amortise, HiddenUnitsDoNotSpoilALinearFit) {
  AmortiseOptions options = mlp(8);
  options.network.epochs = 5;
  const AmortisedFit fit = linear_problem({.rows = 300, .features = 8}).fit(options);
  EXPECT_LT(fit.rms_held_out, 1e-6);
  const AmortisedProblem constant =
      problem(random_dataset({.rows = 20}, 1), [](const Features&, uint64_t) { return 0.0; });
  const AmortisedFit zero = constant.fit(options);
  EXPECT_TRUE(zero.normalizer.exists());
  EXPECT_EQ(zero.normalizer.hidden(), 0u);
  EXPECT_EQ(zero.rms_training, 0);
}

TEST(Amortise, TheNetworkFindsAHinge) {
  const std::vector<double> w = {1, -2, 0.5, 0}, v = {-0.5, 1, 0, 2};
  const AmortisedProblem hinge =
      problem(random_dataset({.rows = 2000, .features = 4}, 2), [&](const Features& x, uint64_t i) {
        return 5 + std::max(0.0, linear_score(x, i, w)) + 0.5 * std::max(0.0, 0.3 + linear_score(x, i, v));
      });
  const AmortisedFit fit = hinge.fit(mlp(16));
  EXPECT_EQ(fit.normalizer.hidden(), 16u);
  EXPECT_LT(fit.rms_held_out, 0.05 * fit.rms_linear) << fit.rms_linear << " " << fit.reason;
}

TEST(Amortise, TheNetworkFindsLogSumExp) {
  for (const bool sparse : {false, true}) {
    const AmortisedProblem softmax =
        softmax_problem({.rows = 3000, .features = 10, .classes = 50, .sparse = sparse}, 1.0);
    const AmortisedFit fit = softmax.fit(mlp());
    EXPECT_LT(fit.rms_held_out, 0.4 * fit.rms_linear) << fit.rms_linear << " " << fit.reason;
    EXPECT_LT(fit.rms_training, 0.4 * fit.rms_linear);
  }
}

// Fewer examples than columns: the held-out tenth keeps the network from doing harm.
TEST(Amortise, NeverWorseThanLinearOnTheExamplesHeldOut) {
  for (const uint64_t rows : {2u, 3u, 40u}) {
    const AmortisedFit fit = softmax_problem({.rows = rows, .features = 60, .classes = 5}, 0.3).fit(mlp());
    EXPECT_LE(fit.rms_held_out, fit.rms_linear * (1 + 1e-6));
    EXPECT_EQ(fit.examples + fit.held_out, rows);
  }
}

// Scaling is folded back exactly: features on very different scales, far from 0.
TEST(Amortise, FeaturesOfAnyScale) {
  Dataset data = random_dataset({.rows = 2000, .features = 3}, 9);
  const float factor[] = {1e-4f, 1, 1e4f}, shift[] = {0.5f, -100, 3e4f};
  const std::vector<double> w = {3e4, -2, 2e-4};
  for (size_t i = 0; i < data.features.dense.values.size(); ++i) {
    float& x = data.features.dense.values[i];
    x = x * factor[i % 3] + shift[i % 3];
  }
  const double centre = 3e4 * 0.5 + 200 + 6;
  const AmortisedProblem hinge = problem(std::move(data), [&](const Features& x, uint64_t i) {
    return std::max(0.0, linear_score(x, i, w) - centre);
  });
  const AmortisedFit fit = hinge.fit(mlp(16));
  EXPECT_LT(fit.rms_held_out, 0.1 * fit.rms_linear) << fit.rms_linear;
}

TEST(Amortise, ReportsTheErrorOfWhatItReturns) {
  const AmortisedProblem softmax = softmax_problem({.rows = 400, .features = 6, .classes = 9}, 1);
  AmortiseOptions options = mlp(8);
  options.network.epochs = 10;
  const AmortisedFit fit = softmax.fit(options);
  const std::vector<double> b = values_of(fit.normalizer, softmax.source->block(0, 400).features);
  double squares = 0;
  for (size_t i = 0; i < 400; ++i) squares += (softmax.log_z[i] - b[i]) * (softmax.log_z[i] - b[i]);
  const double reported =
      360 * fit.rms_training * fit.rms_training + 40 * fit.rms_held_out * fit.rms_held_out;
  EXPECT_NEAR(squares, reported, 1e-9 * squares);
}

TEST(Amortise, TheSameBitsForAnyNumberOfThreads) {
  for (const bool sparse : {false, true}) {
    const AmortisedProblem softmax =
        softmax_problem({.rows = 500, .features = 30, .classes = 9, .sparse = sparse}, 1);
    const auto run = [&](int threads, uint64_t seed) {
      AmortiseOptions options = mlp(100);
      options.network.epochs = 3;
      options.network.seed = seed;
      options.threads = threads;
      return softmax.fit(options).normalizer;
    };
    EXPECT_EQ(run(1, 0), run(4, 0));
    EXPECT_NE(run(1, 0), run(1, 1));
  }
}

TEST(Amortise, ProgressRisesToItsTotal) {
  const AmortisedProblem softmax = softmax_problem({.rows = 300, .features = 4, .classes = 3}, 1);
  AmortiseOptions options = mlp(4);
  options.network.epochs = 3;
  options.network.patience = 0;
  AmortiseProgress last;
  uint64_t reports = 0;
  options.on_progress = [&](const AmortiseProgress& progress) {
    EXPECT_GE(progress.done, last.done);
    EXPECT_GE(progress.epoch, last.epoch);
    if (progress.rms_held_out) ++reports;
    last = progress;
  };
  const AmortisedFit fit = softmax.fit(options);
  EXPECT_EQ(last.done, last.total);
  EXPECT_EQ(last.total, 4u * 270);
  EXPECT_EQ(reports, 3u);
  EXPECT_EQ(fit.epochs, 3u);
}

TEST(Amortise, StopsWhenNothingImproves) {
  const Dataset data = random_dataset({.rows = 60, .features = 3}, 1);
  const std::vector<double> noise = random_vector<double>(60, 2);
  const AmortisedProblem random = problem(data, [&](const Features&, uint64_t i) { return noise[i]; });
  AmortiseOptions options = mlp();
  options.network.patience = 2;
  const AmortisedFit fit = random.fit(options);
  EXPECT_LT(fit.epochs, options.network.epochs);
  EXPECT_EQ(fit.reason, "no improvement in 2 epochs");
}

TEST(Amortise, ADivergedNetworkIsNotTheResult) {
  const AmortisedProblem softmax = softmax_problem({.rows = 100, .features = 4, .classes = 3}, 1);
  AmortiseOptions options = mlp(4);
  options.network.learning_rate = 1e30;
  const AmortisedFit fit = softmax.fit(options);
  EXPECT_NE(fit.reason.find("diverged"), std::string::npos) << fit.reason;
  EXPECT_EQ(fit.normalizer.hidden(), 0u);
  EXPECT_EQ(fit.rms_held_out, fit.rms_linear);
}

TEST(Amortise, RefusesWhatItCannotUse) {
  const AmortisedProblem good = linear_problem({.rows = 10, .features = 2});
  const auto refused = [&good](auto change) {
    AmortiseOptions options = mlp();
    change(options);
    EXPECT_THROW(good.fit(options), Error);
  };
  refused([](AmortiseOptions& o) { o.kind = "cubic"; });
  refused([](AmortiseOptions& o) { o.hold_out = 0; });
  refused([](AmortiseOptions& o) { o.hold_out = 0.6; });
  refused([](AmortiseOptions& o) { o.network.hidden = 0; });
  refused([](AmortiseOptions& o) { o.network.hidden = 65537; });
  refused([](AmortiseOptions& o) { o.network.epochs = 0; });
  refused([](AmortiseOptions& o) { o.network.batch = 0; });
  refused([](AmortiseOptions& o) { o.network.learning_rate = NAN; });
  refused([](AmortiseOptions& o) { o.network.schedule = "weekly"; });
  refused([](AmortiseOptions& o) { o.threads = -1; });

  EXPECT_THROW(fit_amortised(*good.source, std::span(good.log_z).first(9), {}), Error);
  std::vector<double> infinite = good.log_z;
  infinite[3] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(fit_amortised(*good.source, infinite, {}), Error);
  EXPECT_THROW(linear_problem({.rows = 1, .features = 2}).fit({}), Error);
  const auto groups = make_example_source(random_groups(5, 2, 1));
  EXPECT_THROW(fit_amortised(*groups, std::vector<double>(groups->examples()), {}), Error);
}

// log Z has nothing to do with x: the mean is better than any slope.
TEST(Amortise, NeverWorseThanTheConstantOnTheExamplesHeldOut) {
  RandomStream random(9);
  for (const bool sparse : {false, true}) {
    const AmortisedProblem noise = problem(random_dataset({.rows = 60, .features = 50, .sparse = sparse}, 8),
                                           [&](const Features&, uint64_t) { return random.normal(); });
    for (const char* kind : {"linear", "mlp"}) {
      AmortiseOptions options;
      options.kind = kind;
      const AmortisedFit fit = noise.fit(options);
      EXPECT_LE(fit.rms_held_out, fit.rms_constant) << kind;
    }
  }
}

}  // namespace
}  // namespace selfnorm
