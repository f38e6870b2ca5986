// Through the emulated module (tests/gpu/emulated): an output layer on a device takes the steps of the CPU's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "family/classifier/network/bag_problem.h"
#include "family/classifier/network/output_problem.h"
#include "gpu/device.h"
#include "interrupter.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct DeviceOutputs : testing::Test {
  DeviceOutputs() {
    setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1);
    choose_device("cuda");
  }
  ~DeviceOutputs() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
}

TEST_F(DeviceOutputs, TakeTheStepsOfTheCpu) {
  std::vector<ObjectiveOptions> objectives = {objective_of("exact"), objective_of("penalty"),
                                              objective_of("penalty")};
  objectives[1].centre = 0.7;
  objectives[2].learn_centre = true;
  for (const ObjectiveOptions& objective : objectives) {
    for (const bool is_decorated : {false, true}) {
      Layer here(objective, {.is_decorated = is_decorated}), there(objective, {.is_decorated = is_decorated});
      here.options_.l2 = there.options_.l2 = 0.01;
      here.step_ = make_enumerated_output(here.options_, here.model_);
      there.step_ = make_device_output(there.options_, there.model_, there.counts_);
      ASSERT_TRUE(there.step_);
      for (int step = 0; step < 3; ++step) {
        std::vector<float> a, b;
        const LossSum expected = here.run(a), got = there.run(b);
        EXPECT_NEAR(got.likelihood, expected.likelihood, 1e-4);
        EXPECT_NEAR(got.penalty, expected.penalty, 1e-4);
        EXPECT_NEAR(got.nll, expected.nll, 1e-4);
        EXPECT_NEAR(got.log_z_square, expected.log_z_square, 1e-4);
        EXPECT_NEAR(got.weight, expected.weight, 1e-9);
        expect_near(a, b);
        here.step_->update(0.1);
        there.step_->update(0.1);
        EXPECT_NEAR(here.step_->centre(), there.step_->centre(), 1e-6);
      }
      here.step_->finish(here.model_);
      there.step_->finish(there.model_);
      expect_near(here.model_.weight, there.model_.weight);
      expect_near(here.model_.bias, there.model_.bias);
    }
  }
}

// Every candidate objective with every noise and normalizer.
TEST_F(DeviceOutputs, TakeTheSampledStepsOfTheCpu) {
  for (const ObjectiveOptions& objective : output_objectives()) {
    if (!is_candidate_objective(objective.name)) continue;
    for (const bool is_decorated : {false, true}) {
      SCOPED_TRACE(objective.name + " " + objective.noise + " " + objective.noise_sharing + " " +
                   objective.normalizer + (is_decorated ? " decorated" : ""));
      Layer here(objective, {.is_decorated = is_decorated}), there(objective, {.is_decorated = is_decorated});
      here.options_.l2 = there.options_.l2 = is_decorated ? 0.01 : 0;
      here.step_ = here.make();
      there.step_ = make_device_output(there.options_, there.model_, there.counts_);
      ASSERT_TRUE(there.step_);
      EXPECT_EQ(there.step_->device(), "emulated");
      EXPECT_EQ(there.step_->rate_factor(), here.step_->rate_factor());
      for (int step = 0; step < 3; ++step) {
        here.batch_.step = there.batch_.step = static_cast<uint64_t>(step);
        std::vector<float> a, b;
        const LossSum expected = here.run(a), got = there.run(b);
        EXPECT_NEAR(got.likelihood, expected.likelihood, 1e-4);
        EXPECT_NEAR(got.weight, expected.weight, 1e-9);
        EXPECT_NEAR(got.d_centre, expected.d_centre, 1e-4);
        EXPECT_NEAR(got.estimated_weight, expected.estimated_weight, 1e-9);
        EXPECT_NEAR(got.log_ratio, expected.log_ratio, 1e-4);
        EXPECT_NEAR(got.effective, expected.effective, 1e-3);
        expect_near(a, b);
        here.step_->update(0.1);
        there.step_->update(0.1);
        EXPECT_NEAR(here.step_->centre(), there.step_->centre(), 1e-4);
      }
      here.step_->finish(here.model_);
      there.step_->finish(there.model_);
      expect_near(here.model_.weight, there.model_.weight);
      expect_near(here.model_.bias, there.model_.bias);
    }
  }
}

TEST_F(DeviceOutputs, AMinibatchOfOneWithoutNoiseMovesNothing) {
  ObjectiveOptions objective = objective_of("nce");
  objective.noise = "in-batch";
  Layer layer(objective, {});
  layer.target_.resize(1);
  layer.batch_.target = layer.target_;
  layer.state_.dense = {1, kStates, random_vector<float>(kStates, 3)};
  const std::vector<float> before = layer.model_.weight;
  const auto step = make_device_output(layer.options_, layer.model_, layer.counts_);
  step->begin(layer.batch_);
  std::vector<float> d_state(kStates, 77.0f);
  EXPECT_EQ(step->block({0, 1}, d_state.data()).weight, 0);
  EXPECT_EQ(d_state, std::vector<float>(kStates));
  step->update(0.1);
  step->finish(layer.model_);
  EXPECT_EQ(layer.model_.weight, before);
}

TEST_F(DeviceOutputs, TrainNetworksAndResumeThem) {
  const Dataset data = bag_data(300, 2);
  const BagFeed feed(data);
  for (const char* objective : {"penalty", "snl"}) {
    TrainOptions options;
    options.objective.name = objective;
    options.objective.samples = 5;
    options.encoder.kind = "bag";
    options.encoder.dimension = 6;
    options.epochs = 3;
    options.batch = 50;
    TrainObserver quiet;
    const TrainResult whole = train_network(feed, nullptr, bag_plan(), options, {}, quiet);
    EXPECT_EQ(nlohmann::json::parse(whole.model.training_json)["device"], "emulated");
    const std::string path = testing::TempDir() + "device_output_resume";
    std::filesystem::remove(path);
    int sessions = 0;
    const TrainResult parts = finished_in_sessions(
        [&](TrainObserver& observer, bool resume) {
          return train_network(feed, nullptr, bag_plan(), options,
                               {.path = path, .seconds = 1e9, .resume = resume}, observer);
        },
        4, sessions);
    EXPECT_GT(sessions, 2);
    EXPECT_EQ(whole.model.weight, parts.model.weight);
    EXPECT_EQ(whole.model.encoder.embedding, parts.model.encoder.embedding);
    choose_device("cpu");
    const TrainResult cpu = train_network(feed, nullptr, bag_plan(), options, {}, quiet);
    EXPECT_FALSE(nlohmann::json::parse(cpu.model.training_json).contains("device"));
    ASSERT_EQ(cpu.model.weight.size(), whole.model.weight.size());
    for (size_t i = 0; i < cpu.model.weight.size(); ++i)
      EXPECT_NEAR(cpu.model.weight[i], whole.model.weight[i], 1e-3);
    choose_device("cuda");
  }
}

TEST_F(DeviceOutputs, OtherObjectivesAreRefusedOrLeftToTheCpu) {
  Layer layer(objective_of("hierarchical"), {});
  EXPECT_THROW(make_device_output(layer.options_, layer.model_, layer.counts_), Error);
  choose_device("auto");
  EXPECT_EQ(make_device_output(layer.options_, layer.model_, layer.counts_), nullptr);
  Layer small(objective_of("nce"), {});
  EXPECT_EQ(make_device_output(small.options_, small.model_, small.counts_), nullptr);
}

}  // namespace
}  // namespace selfnorm
