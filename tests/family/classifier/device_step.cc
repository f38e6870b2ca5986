// Through the emulated module (tests/gpu/emulated): classifiers without an encoder are trained on a device as
// on the CPU, in full passes and in minibatches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "family/classifier/trainer.h"
#include "gpu/device.h"
#include "interrupter.h"
#include "objective/registry.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct DeviceTraining : testing::Test {
  DeviceTraining() { setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1); }
  ~DeviceTraining() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }

  static Dataset data(bool is_sparse, uint64_t seed) {
    Dataset out = random_dataset(
        {.rows = 150, .features = 12, .classes = 5, .sparse = is_sparse, .density = 0.2}, seed);
    out.weight = random_vector<float>(150, 9);
    for (float& w : out.weight) w = 0.5f + std::abs(w);
    return out;
  }
  static TrainResult trained(const TrainOptions& options, bool is_sparse, const std::string& device) {
    choose_device(device);
    TrainObserver quiet;
    return train_classifier(data(is_sparse, 1), data(is_sparse, 2), options, {}, quiet);
  }
};

struct Case {
  const char *objective, *optimiser;
  double l1, l2, dropout;
  bool learns_centre;
};

TEST_F(DeviceTraining, GivesTheModelsOfTheCpu) {
  for (const Case& c :
       {Case{"exact", "lbfgs", 0, 0.01, 0, false}, Case{"penalty", "lbfgs", 0.001, 0.01, 0, true},
        Case{"exact", "adagrad", 0, 0.01, 0, false}, Case{"penalty", "adagrad", 0.01, 0.01, 0, true},
        Case{"penalty", "adam", 0.01, 0.01, 0.2, false}}) {
    for (const bool is_sparse : {false, true}) {
      SCOPED_TRACE(std::string(c.objective) + " " + c.optimiser + (is_sparse ? " sparse" : " dense"));
      TrainOptions options;
      options.objective.name = c.objective;
      options.objective.learn_centre = c.learns_centre;
      options.optimiser = c.optimiser;
      options.l1 = c.l1, options.l2 = options.l2_from = c.l2;
      options.encoder.dropout = c.dropout;
      options.epochs = 3, options.iterations = 15, options.batch = 40;
      const TrainResult here = trained(options, is_sparse, "cpu"),
                        there = trained(options, is_sparse, "cuda");
      EXPECT_FALSE(nlohmann::json::parse(here.model.training_json).contains("device"));
      EXPECT_EQ(nlohmann::json::parse(there.model.training_json)["device"], "emulated");
      ASSERT_EQ(here.model.weight.size(), there.model.weight.size());
      for (size_t i = 0; i < here.model.weight.size(); ++i)
        EXPECT_NEAR(here.model.weight[i], there.model.weight[i], 2e-3) << i;
      EXPECT_NEAR(here.model.log_normalizer, there.model.log_normalizer, 1e-3);
    }
  }
}

// Draws and their lists are the host's, so that a step of any noise is that of the CPU.
TEST_F(DeviceTraining, TakesTheSampledStepsOfTheCpu) {
  for (const std::string& objective : candidate_objective_names()) {
    for (const char* noise : {"unigram", "in-batch"}) {
      for (const char* sharing : {"batch", "example"}) {
        for (const char* optimiser : {"adagrad", "adam"}) {
          TrainOptions options;
          options.objective.name = objective;
          options.objective.noise = noise;
          options.objective.noise_sharing = sharing;
          options.objective.samples = 6;
          if (objective_entry(objective).uses_normalizer) options.objective.normalizer = "linear";
          options.optimiser = optimiser;
          options.l1 = 0.001, options.l2 = options.l2_from = 0.01;
          options.epochs = 2, options.batch = 40, options.learning_rate = 0.05;
          options.log_carrier = {0.5f, 0, -0.25f, 0, 1};
          SCOPED_TRACE(objective + " " + noise + " " + sharing + " " + optimiser);
          const TrainResult here = trained(options, false, "cpu"), there = trained(options, false, "cuda");
          EXPECT_EQ(nlohmann::json::parse(there.model.training_json)["device"], "emulated");
          ASSERT_EQ(here.model.weight.size(), there.model.weight.size());
          for (size_t i = 0; i < here.model.weight.size(); ++i)
            EXPECT_NEAR(here.model.weight[i], there.model.weight[i], 2e-3) << i;
          for (size_t i = 0; i < here.model.bias.size(); ++i)
            EXPECT_NEAR(here.model.bias[i], there.model.bias[i], 2e-3) << i;
          EXPECT_NEAR(here.model.log_normalizer, there.model.log_normalizer, 2e-3);
        }
      }
    }
  }
}

TEST_F(DeviceTraining, ResumesToTheSameBits) {
  for (const char* objective : {"penalty", "snl"}) {
    for (const char* optimiser : {"lbfgs", "adagrad", "adam"}) {
      const bool draws = is_candidate_objective(objective);
      if (draws && std::string(optimiser) == "lbfgs") continue;
      TrainOptions options;
      options.objective.name = objective;
      options.objective.learn_centre = !draws;
      options.objective.samples = 6;
      options.optimiser = optimiser;
      options.epochs = 3, options.iterations = 12, options.batch = 40;
      SCOPED_TRACE(std::string(objective) + " " + optimiser);
      const TrainResult whole = trained(options, !draws, "cuda");
      const std::string path = testing::TempDir() + "device_step_" + objective + optimiser;
      std::filesystem::remove(path);
      int sessions = 0;
      const TrainResult parts = finished_in_sessions(
          [&](TrainObserver& observer, bool resume) {
            return train_classifier(data(!draws, 1), data(!draws, 2), options,
                                    {.path = path, .seconds = 1e9, .resume = resume}, observer);
          },
          4, sessions);
      EXPECT_GT(sessions, 1);
      EXPECT_EQ(whole.model.weight, parts.model.weight);
      EXPECT_EQ(whole.model.bias, parts.model.bias);
    }
  }
}

TEST_F(DeviceTraining, WhatItCannotDoIsAnErrorByNameAndLeftToTheCpuOtherwise) {
  TrainOptions options;
  options.epochs = 1;
  const auto expect_refused = [&](const std::string& word) {
    try {
      trained(options, false, "cuda");
      ADD_FAILURE() << "nothing was refused: " << word;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
    EXPECT_FALSE(
        nlohmann::json::parse(trained(options, false, "auto").model.training_json).contains("device"));
  };
  options.objective.name = "nce";
  choose_device("cuda");
  TrainObserver quiet;
  EXPECT_THROW(train_classifier(data(true, 1), data(true, 2), options, {}, quiet), Error);  // sparse
  options.objective.name = "sampled";
  expect_refused("gamma 0.1, expected 1");
  options.objective.name = "penalty";
  options.precision = "double";
  expect_refused("arithmetic in double");
  options.precision = "float";  // small
  EXPECT_FALSE(nlohmann::json::parse(trained(options, false, "auto").model.training_json).contains("device"));
}

}  // namespace
}  // namespace selfnorm
