// Training against noise classes, on problems whose maximum likelihood is known.
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

struct ProgressListener : TrainObserver {
  std::vector<Progress> seen;
  void on_progress(const Progress& p) override { seen.push_back(p); }
};

TrainResult train_candidates(const Dataset& data, const TrainOptions& options) {
  TrainObserver observer;
  return train_classifier(data, std::nullopt, options, {}, observer);
}

// Sparse binary features, labels drawn from a log-linear model, one class that is never seen.
Dataset small_problem() {
  GenerateOptions options;
  options.rows = 2000;
  options.features = 8;
  options.classes = 5;
  options.density = 0.3;
  Dataset data = generate(options).data;
  data.labels.push_back("never");
  return data;
}

TrainOptions candidate(const std::string& objective) {
  TrainOptions options;
  options.objective.name = objective;
  options.objective.samples = 200;
  options.epochs = 60;
  options.batch = 50;
  options.l2 = 1e-3;
  return options;
}

// A saturated model can have a constant log Z: NLL within 1e-4 of the maximum likelihood's, and the root mean
// square of log Z - b within 0.005.
TEST(CandidateTraining, ReachesTheMaximumLikelihoodAndLogZ) {
  const Saturated truth;
  for (const std::string objective : {"snl", "nce"}) {
    for (const std::string normalizer : {"constant", "zero"}) {
      for (const std::string optimiser : {"adagrad", "adam"}) {
        TrainOptions options = candidate(objective);
        options.objective.normalizer = normalizer;
        options.objective.samples = 500;
        options.optimiser = optimiser;
        options.l2 = 0;
        options.epochs = 300;
        const ModelFile model = train_candidates(truth.data, options).model;
        const Evaluation e = evaluate(model, truth.data);
        const std::string name = objective + " " + normalizer + " " + optimiser;
        EXPECT_NEAR(e.nll_exact, truth.entropy(), 1e-4) << name;
        EXPECT_LT(e.log_z.rms, 0.005) << name;
        EXPECT_EQ(model.log_normalizer == 0, normalizer == "zero") << name;
      }
    }
  }
}

// Noise of each example's own, and the other targets of its minibatch; in-batch noise never draws a class
// that is not a target, so there every class is one.
TEST(CandidateTraining, OwnAndInBatchNoiseComeNearTheMaximumLikelihood) {
  Dataset data = small_problem();
  data.labels = data.labels.first(data.labels.size() - 1);
  TrainOptions best_options = candidate("exact");
  best_options.tolerance = 1e-8;
  const double best = evaluate(train_candidates(data, best_options).model, data).nll_exact;
  for (const std::string objective : {"snl", "nce", "ranking-nce", "is"}) {
    for (const std::string noise : {"unigram", "in-batch"}) {
      TrainOptions options = candidate(objective);
      options.objective.noise = noise;
      options.objective.noise_sharing = "example";
      options.objective.samples = 20;
      const Evaluation e = evaluate(train_candidates(data, options).model, data);
      const bool is_free = objective == "ranking-nce" || objective == "is";
      EXPECT_LT(e.nll_exact, best + (is_free ? 0.001 : 0.01)) << objective << " " << noise;
      EXPECT_NEAR(e.log_z.mean, 0, 0.03) << objective << " " << noise;
    }
  }
}

// A model that is not saturated pays for a constant b, as it does for a penalty; ranking-nce and is leave log
// Z free and pay nothing but noise. One class is never seen.
TEST(CandidateTraining, EveryObjectiveAndNoiseComesNearTheMaximumLikelihood) {
  const Dataset data = small_problem();
  TrainOptions best_options = candidate("exact");
  best_options.tolerance = 1e-8;
  const double best = evaluate(train_candidates(data, best_options).model, data).nll_exact;
  for (const std::string objective : {"snl", "nce", "ranking-nce", "is"}) {
    for (const std::string noise : {"uniform", "unigram", "log-uniform"}) {
      TrainOptions options = candidate(objective);
      options.objective.noise = noise;
      const Evaluation e = evaluate(train_candidates(data, options).model, data);
      const bool is_free = objective == "ranking-nce" || objective == "is";
      EXPECT_LT(e.nll_exact, best + (is_free ? 0.001 : 0.01)) << objective << " " << noise;
      EXPECT_NEAR(e.log_z.mean, 0, 0.03) << objective << " " << noise;
      EXPECT_NEAR(e.nll_raw, e.nll_exact, 0.03) << objective << " " << noise;
    }
  }
}

TEST(CandidateTraining, DenseInputsCarrierAndWeights) {
  GenerateOptions generated;
  generated.rows = 1000;
  generated.features = 6;
  generated.classes = 4;
  generated.density = 0.5;
  const Dataset sparse = generate(generated).data;
  Dataset data = sparse;
  data.features.is_sparse = false;
  data.features.dense = {.rows = 1000, .columns = 6, .values = std::vector<float>(6000)};
  for (uint64_t i = 0; i < 1000; ++i) {
    for (uint64_t p = sparse.features.sparse.begin[i]; p < sparse.features.sparse.begin[i + 1]; ++p) {
      data.features.dense.values[i * 6 + sparse.features.sparse.column[p]] = sparse.features.sparse.value[p];
    }
  }
  data.weight.assign(1000, 1);
  for (uint64_t i = 0; i < 1000; i += 3) data.weight[i] = 0;
  TrainOptions options = candidate("exact");
  options.log_carrier = {0.0f, 2.0f, -1.0f, 0.5f};
  const double best = evaluate(train_candidates(data, options).model, data).nll_exact;
  for (const std::string objective : {"snl", "nce"}) {
    options.objective.name = objective;
    const Evaluation e = evaluate(train_candidates(data, options).model, data);
    EXPECT_LT(e.nll_exact, best + 0.01) << objective;
    EXPECT_NEAR(e.log_z.mean, 0, 0.03) << objective;
  }
}

// With 1000 classes, one step of 4 examples and 5 samples moves at most 9 classes, in the features of the 4
// examples, whatever is regularised.
TEST(CandidateTraining, AStepTouchesOnlyWhatItUsed) {
  Dataset data =
      random_dataset({.rows = 4, .features = 50, .classes = 1000, .sparse = true, .density = 0.1}, 3);
  for (const std::string optimiser : {"adagrad", "adam"}) {
    TrainOptions options = candidate("snl");
    options.objective.samples = 5;
    options.optimiser = optimiser;
    options.batch = 4;
    options.epochs = 1;
    options.l1 = 1e-6;
    const ModelFile model = train_candidates(data, options).model;
    std::vector<bool> used(50);
    for (const uint32_t j : data.features.sparse.column) used[j] = true;
    size_t moved = 0;
    for (uint32_t k = 0; k < 1000; ++k) {
      bool has_moved = model.bias[k] != 0;  // b holds the level, biases start at 0
      for (uint32_t j = 0; j < 50; ++j) {
        const bool weight_moved = model.weight[k * 50 + j] != 0;
        EXPECT_TRUE(used[j] || !weight_moved);
        has_moved |= weight_moved;
      }
      moved += has_moved ? 1 : 0;
    }
    EXPECT_GE(moved, 1u);
    EXPECT_LE(moved, 9u);
  }
}

// No number is called exact that is not.
TEST(CandidateTraining, ReportsEstimatesAsSuch) {
  const Dataset data = small_problem();
  for (const std::string objective : {"snl", "nce", "ranking-nce", "is"}) {
    TrainOptions options = candidate(objective);
    options.epochs = 2;
    ProgressListener listener;
    const TrainResult result = train_classifier(data, std::nullopt, options, {}, listener);
    ASSERT_FALSE(listener.seen.empty());
    const bool has_b = objective == "snl" || objective == "nce";
    const bool has_estimate = objective == "snl" || objective == "is";
    for (const Progress& p : listener.seen) {
      EXPECT_FALSE(p.nll.has_value());
      EXPECT_FALSE(p.log_z_rms.has_value());
      EXPECT_EQ(p.log_normalizer.has_value(), has_b);
      EXPECT_EQ(p.log_ratio.has_value(), has_estimate);
      ASSERT_EQ(p.effective_samples.has_value(), has_estimate);
      EXPECT_GT(p.effective_samples.value_or(2), 1);
      EXPECT_LE(p.effective_samples.value_or(2), 200.0001);
    }
    EXPECT_EQ(result.model.training_json.find("nll"), std::string::npos);
  }
}

TEST(CandidateTraining, GroupsOfAlternativesAndFullPassesAreUserErrors) {
  EXPECT_THROW(train_candidates(random_groups(30, 3, 1), candidate("nce")), Error);
  TrainOptions options = candidate("snl");
  options.optimiser = "lbfgs";
  EXPECT_THROW(train_candidates(small_problem(), options), Error);
  options = candidate("snl");
  options.objective.samples = 0;
  EXPECT_THROW(train_candidates(small_problem(), options), Error);
}

}  // namespace
}  // namespace selfnorm
