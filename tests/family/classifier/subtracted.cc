// What linear models subtract from their scores when b is a function of the features.
#include <gtest/gtest.h>

#include <cmath>

#include "audit/evaluation.h"
#include "data/toy/generate.h"
#include "family/classifier/saturated.h"
#include "family/classifier/trainer.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TrainOptions candidate(const std::string& objective, const std::string& normalizer) {
  TrainOptions options;
  options.objective.name = objective;
  options.objective.normalizer = normalizer;
  options.objective.normalizer_hidden = 4;
  options.objective.samples = 100;
  options.objective.noise_sharing = "example";
  options.objective.noise = "uniform";
  options.epochs = 400;
  options.batch = 100;
  options.l2 = 0;
  return options;
}

TrainResult train_subtracted(const Dataset& data, const TrainOptions& options,
                             const std::optional<Dataset>& valid = std::nullopt) {
  TrainObserver observer;
  return train_classifier(data, valid, options, {}, observer);
}

// The saturated problem: its maximum likelihood is known, and every b there is can hold its log Z, which is
// about 1.4: three digits.
void expect_log_z(const std::string& objective) {
  const Saturated truth;
  for (const std::string normalizer : {"constant", "linear", "mlp"}) {
    const ModelFile model = train_subtracted(truth.data, candidate(objective, normalizer)).model;
    const Evaluation e = evaluate(model, truth.data);
    EXPECT_NEAR(e.nll_exact, truth.entropy(), 1e-5) << normalizer;
    ASSERT_EQ(e.amortised.has_value(), normalizer != "constant") << normalizer;
    const LogZStatistics& rest = e.amortised ? e.amortised->log_z : e.log_z;
    EXPECT_LT(rest.rms, 2e-3) << normalizer;
    EXPECT_NEAR(e.log_z.mean, 0, 0.05) << normalizer;
  }
}

TEST(Subtracted, EveryNormalizerOfSnlReachesLogZAndTheMaximumLikelihood) { expect_log_z("snl"); }

TEST(Subtracted, EveryNormalizerOfNceReachesLogZAndTheMaximumLikelihood) { expect_log_z("nce"); }

Dataset dense_problem(uint64_t seed) {
  GenerateOptions generated;
  generated.rows = 1500;
  generated.features = 4;
  generated.classes = 5;
  generated.density = 0.6;
  generated.seed = seed;
  const Dataset sparse = generate(generated).data;
  Dataset data = sparse;
  data.features.is_sparse = false;
  data.features.dense = {.rows = 1500, .columns = 4, .values = std::vector<float>(6000)};
  for (uint64_t i = 0; i < 1500; ++i) {
    for (uint64_t p = sparse.features.sparse.begin[i]; p < sparse.features.sparse.begin[i + 1]; ++p)
      data.features.dense.values[i * 4 + sparse.features.sparse.column[p]] = sparse.features.sparse.value[p];
  }
  data.features.sparse = {};
  return data;
}

// Features far from 0 and of other sizes are standardised for training; b is stored for the features as they
// are.
TEST(Subtracted, ScalingOfDenseFeaturesIsFolded) {
  Dataset data = dense_problem(1);
  for (uint64_t i = 0; i < data.features.dense.values.size(); ++i) {
    float& v = data.features.dense.values[i];
    v = i % 4 == 0 ? 100 + 50 * v : i % 4 == 1 ? v / 100 - 3 : v;
  }
  for (const std::string normalizer : {"linear", "mlp"}) {
    TrainOptions options = candidate("snl", normalizer);
    options.objective.noise_sharing = "batch";
    options.epochs = 30;
    const Evaluation e = evaluate(train_subtracted(data, options).model, data);
    ASSERT_TRUE(e.amortised);
    EXPECT_NEAR(e.amortised->log_z.mean, 0, 0.02) << normalizer;
    EXPECT_LT(e.amortised->log_z.rms, 0.1) << normalizer;
    EXPECT_NEAR(e.amortised->nll, e.nll_exact, 0.02) << normalizer;
    EXPECT_NEAR(e.log_z.mean, 0, 0.1) << normalizer;
  }
}

// Only the constant is calibrated: on the validation data the mean of A - c - b is 0.
TEST(Subtracted, CalibrationCentresWhatTheFunctionLeaves) {
  const Dataset data = dense_problem(1), valid = dense_problem(2);
  for (const std::string normalizer : {"linear", "mlp"}) {
    for (const uint64_t patience : {0u, 3u}) {
      TrainOptions options = candidate("snl", normalizer);
      options.objective.samples = 20;
      options.epochs = 6;
      options.patience = patience;
      const Evaluation e = evaluate(train_subtracted(data, options, valid).model, valid);
      EXPECT_NEAR(e.amortised->log_z.mean, 0, 1e-5) << normalizer << " " << patience;
      options.calibrate = false;
      const Evaluation as_trained = evaluate(train_subtracted(data, options, valid).model, valid);
      EXPECT_GT(std::abs(as_trained.amortised->log_z.mean), 1e-4) << normalizer << " " << patience;
    }
  }
}

// A run that diverges returns the parameters of its last good epoch and the b that belonged to them.
TEST(Subtracted, DivergenceReturnsTheNormalizerOfTheLastGoodEpoch) {
  Dataset data = dense_problem(1);
  TrainOptions options = candidate("snl", "linear");
  options.objective.samples = 5;
  options.scale = "none";
  options.epochs = 2;
  options.learning_rate = 1e6;
  options.patience = 0;
  const TrainResult result = train_subtracted(data, options);
  EXPECT_TRUE(result.diverged);
  EXPECT_TRUE(std::isfinite(result.model.log_normalizer));
  EXPECT_TRUE(std::isfinite(result.model.normalizer.intercept));
}

}  // namespace
}  // namespace selfnorm
