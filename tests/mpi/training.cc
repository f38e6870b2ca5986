// Every family and every kind of objective, trained by one process and by several (threads, here): the same
// bits.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "family/classifier/network/network_trainer.h"
#include "family/classifier/trainer.h"
#include "family/crf/crf_trainer.h"
#include "family/density/train/density_trainer.h"
#include "family/regressor/train/regressor_trainer.h"
#include "math/process/thread_job.h"
#include "normalizer/enumeration.h"
#include "random_data.h"
#include "small_crfs.h"
#include "small_regressors.h"

namespace selfnorm {
namespace {

// train() gives the parameters; the loss went down somewhere, so that they are not the start.
template <class Train>
void expect_same_bits(const Train& train, const std::string& what) {
  const auto alone = train();
  ASSERT_FALSE(alone.empty()) << what;
  for (const int processes : {2, 3, 4}) {
    std::mutex guard;
    int same = 0;
    run_as_processes(processes, [&](int) {
      const bool is_same = train() == alone;
      const std::lock_guard lock(guard);
      same += is_same ? 1 : 0;
    });
    EXPECT_EQ(same, processes) << what;
  }
}

std::vector<float> all_floats(const std::vector<std::span<float>>& blocks) {
  std::vector<float> out;
  for (const std::span<float> block : blocks) out.insert(out.end(), block.begin(), block.end());
  return out;
}

TEST(Processes, TrainTheSameClassifiers) {
  for (const bool is_sparse : {false, true}) {
    const Dataset data = random_dataset({.rows = 500, .features = 12, .classes = 5, .sparse = is_sparse}, 1);
    const Dataset valid = random_dataset({.rows = 90, .features = 12, .classes = 5, .sparse = is_sparse}, 2);
    for (const std::string objective : {"exact", "penalty", "constraint", "sampled", "nce", "snl"})
      for (const std::string precision : {"float", "double"}) {
        if (objective == "constraint" && precision == "double") continue;
        TrainOptions options;
        options.objective.name = objective;
        options.precision = precision;
        options.iterations = 8;
        options.epochs = 3;
        options.batch = 200;
        options.threads = 1;
        expect_same_bits(
            [&] {
              TrainObserver quiet;
              const bool is_tested = objective != "constraint";
              return train_classifier(data, is_tested ? std::optional(valid) : std::nullopt, options, {},
                                      quiet)
                  .model.weight;
            },
            objective + " " + precision);
      }
  }
}

TEST(Processes, TrainTheSameNetworksOfBags) {
  const Dataset data = random_dataset({.rows = 300, .features = 40, .classes = 300, .sparse = true}, 3);
  EncoderPlan plan;
  plan.kind = EncoderKind::Bag;
  plan.inputs = 40;
  plan.classes = 300;
  plan.examples = 300;
  for (const std::string objective :
       {"exact", "penalty", "sampled", "nce", "ranking-nce", "is", "snl", "hierarchical"})
    for (const std::string sharing : {"batch", "example"}) {
      const bool draws = objective == "nce" || objective == "snl";
      if (sharing == "example" && !draws) continue;
      TrainOptions options;
      options.objective.name = objective;
      options.objective.noise_sharing = sharing;
      options.objective.samples = 70;
      options.encoder.kind = "bag";
      options.encoder.dimension = 6;
      options.encoder.hidden = draws ? 80 : 0;
      options.epochs = 2;
      options.batch = 150;
      options.threads = 1;
      expect_same_bits(
          [&] {
            TrainObserver quiet;
            ModelFile model = train_network(BagFeed(data), nullptr, plan, options, {}, quiet).model;
            model.weight.insert(model.weight.end(), model.encoder.embedding.begin(),
                                model.encoder.embedding.end());
            return model.weight;
          },
          objective + " " + sharing);
    }
}

// More classes than a tile: scores are made and read by tiles of classes.
TEST(Processes, SumOverTheSameManyClasses) {
  const Dataset data = random_dataset({.rows = 150, .features = 7, .classes = 9000}, 4);
  const Multiclass<double> model(data.features, 9000, 7, {});
  const Enumeration<double> pass(model, data.target);
  ASSERT_EQ(plan_enumeration(150, 9000, pass.gradient_size(), sizeof(double)).chunks, 0u);
  const auto theta = random_vector<double>(pass.parameters(), 5, 0.3);
  expect_same_bits(
      [&] {
        std::vector<double> out(pass.gradient_size());
        std::vector<double> seen(3 * 150);
        pass.run(
            theta, 150,
            [&](uint64_t i, double score, double log_z) {
              seen[3 * i] += score;  // once
              seen[3 * i + 1] += log_z;
              return ScoreDerivatives{-1, log_z};
            },
            out);
        pass.summarise(theta, [&](uint64_t i, const OutputSummary& x) { seen[3 * i + 2] += x.entropy; });
        out.insert(out.end(), seen.begin(), seen.end());
        return out;
      },
      "tiles");
}

TEST(Processes, TrainTheSameCrfs) {
  for (const uint64_t bigrams : {0u, 4u})
    for (const std::string optimiser : {"lbfgs", "adagrad"}) {
      test::CrfPlan plan{.sentences = 500, .longest = 6, .bigrams = bigrams};
      const Sequences data = test::random_sequences(plan);
      plan.seed = 2;
      plan.sentences = 150;
      const Sequences valid = test::random_sequences(plan);
      const SequenceEncoder encoder = test::small_encoder(plan);
      CrfOptions options;
      options.objective.name = optimiser == "lbfgs" ? "penalty" : "exact";
      options.optimiser = optimiser;
      options.iterations = 8;
      options.epochs = 2;
      options.batch = 200;
      options.threads = 1;
      expect_same_bits(
          [&] {
            TrainObserver quiet;
            return train_crf({data, &valid, encoder}, options, {}, quiet).model.theta;
          },
          optimiser);
    }
}

TEST(Processes, TrainTheSameDensities) {
  const auto points = make_point_source(2, random_vector<float>(2 * 700, 6));
  const std::vector<uint64_t> train = numbers(0, 600), valid = numbers(600, 700);
  for (const std::string objective : {"snl", "nce", "is", "ranking-nce", "cd", "pcd", "sm", "ssm", "dsm"}) {
    DensityOptions options;
    options.objective = objective;
    options.energy = "mlp:16";
    options.proposal = objective == "snl" ? "mixture:2" : "gaussian";
    options.samples = 600;
    options.batch = 300;
    options.steps = 6;
    options.normalizer_steps = 2;
    options.threads = 1;
    expect_same_bits(
        [&] {
          TrainObserver quiet;
          const DensityResult found = train_density(*points, train, valid, options, {}, quiet);
          const std::span<const float> theta = std::as_const(*found.model.energy).parameters();
          std::vector<float> out(theta.begin(), theta.end());
          out.push_back(static_cast<float>(found.model.log_normalizer));
          return out;
        },
        objective);
  }
}

TEST(Processes, TrainTheSameRegressors) {
  const Frame frame = test::small_frame(500);
  const std::vector<uint64_t> train = numbers(0, 400), valid = numbers(400, 480);
  for (const std::string objective : {"snl", "nce", "dsm", "mcmc"}) {
    RegressorOptions options;
    options.objective = objective;
    options.features = {12};
    options.joint = {12};
    options.components = 3;
    options.samples = 8;
    options.batch = 300;
    options.epochs = 4;
    options.ensemble = 1;
    options.threads = 1;
    expect_same_bits(
        [&] {
          TrainObserver quiet;
          RegressorResult found = train_regressor(frame, {"y"}, train, valid, options, {}, quiet);
          return all_floats(found.model.members[0].parameters());
        },
        objective);
  }
}

}  // namespace
}  // namespace selfnorm
