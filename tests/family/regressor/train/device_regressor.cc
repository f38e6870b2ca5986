// Through the emulated module (tests/gpu/emulated), whose steps are those of the referee in
// gpu/regressor_reference.h: what it does with them has to be what the CPU's own steps do.
#include "family/regressor/train/device_regressor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "family/regressor/train/regressor_member.h"
#include "family/regressor/train/two_branches.h"
#include "interrupter.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct DeviceRegressors : testing::Test {
  DeviceRegressors() { setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1); }
  ~DeviceRegressors() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }

  // Two branches, a column of three levels that moves them, a second target and weights.
  static Frame frame() {
    Frame out = two_branches(230);
    RandomStream random(5);
    out.columns.resize(5);
    FrameColumn &level = out.columns[2], &other = out.columns[3], &weight = out.columns[4];
    level.name = "level", other.name = "z", weight.name = "w";
    level.is_numeric = false;
    level.levels = {"a", "b", "c"};
    for (uint64_t i = 0; i < out.rows; ++i) {
      const uint64_t own = random.below(3);
      level.level.push_back(static_cast<uint32_t>(own));
      out.columns[1].number[i] += 0.4 * static_cast<double>(own);
      other.number.push_back(out.columns[1].number[i] + 0.5 * random.normal());
      weight.number.push_back(0.5 + random.uniform());
    }
    return out;
  }

  static RegressorOptions options(const std::string& objective) {
    RegressorOptions o = quick_regressor(objective);
    o.features = {8, 7};
    o.joint = {9, 6};
    o.normalizer = {5};
    o.components = 3;
    o.epochs = 12;
    o.batch = 48;  // 8 rows are left for the last minibatch of an epoch
    o.samples = 6;
    o.warm_up = 0.3;
    o.learning_rate = 5e-3;
    o.checks = 3;
    o.ramp = 5;
    o.weight_decay = 0.01;
    o.calibrate = o.temperature = false;
    return o;
  }

  struct Watcher : TrainObserver {
    std::vector<Progress> progress;
    void on_progress(const Progress& p) override { progress.push_back(p); }
  };

  static RegressorResult trained(const std::string& device, const RegressorOptions& o, Watcher& watcher,
                                 const std::vector<std::string>& targets = {"y"}) {
    choose_device(device);
    return train_regressor(frame(), targets, numbers(0, 200), numbers(200, 230), o, {}, watcher);
  }

  static std::vector<float> parameters_of(Regressor& model) {
    std::vector<float> all;
    for (RegressorNetworks& member : model.members) {
      const std::vector<float> own = FlatParameters(member.parameters()).gather();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  static void expect_same_training(const RegressorOptions& o, const std::vector<std::string>& targets) {
    Watcher here, there;
    RegressorResult cpu = trained("cpu", o, here, targets), gpu = trained("cuda", o, there, targets);
    EXPECT_FALSE(gpu.diverged) << gpu.reason;
    EXPECT_EQ(cpu.reason, gpu.reason);
    const std::vector<float> a = parameters_of(cpu.model), b = parameters_of(gpu.model);
    ASSERT_EQ(a.size(), b.size());
    double square = 0, norm = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      square += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
      norm += std::pow(static_cast<double>(a[i]), 2);
    }
    EXPECT_LE(std::sqrt(square / norm), 1e-3);
    ASSERT_EQ(here.progress.size(), there.progress.size());
    for (size_t i = 0; i < here.progress.size(); ++i) {
      const auto near = [&](std::optional<double> x, std::optional<double> y, double tolerance) {
        ASSERT_EQ(x.has_value(), y.has_value());
        EXPECT_NEAR(x.value_or(0), y.value_or(0), tolerance * (1 + std::abs(x.value_or(0))));
      };
      EXPECT_EQ(here.progress[i].step, there.progress[i].step);
      near(here.progress[i].loss, there.progress[i].loss, 2e-4);
      near(here.progress[i].gradient_norm, there.progress[i].gradient_norm, 2e-3);
      near(here.progress[i].log_normalizer, there.progress[i].log_normalizer, 1e-3);
      near(here.progress[i].log_ratio, there.progress[i].log_ratio, 1e-3);
      near(here.progress[i].effective_samples, there.progress[i].effective_samples, 1e-3);
      near(here.progress[i].valid_nll, there.progress[i].valid_nll, 2e-3);
    }
    EXPECT_FALSE(nlohmann::json::parse(cpu.model.training_json).contains("device"));
    EXPECT_EQ(nlohmann::json::parse(gpu.model.training_json)["device"], "emulated");
  }
};

TEST_F(DeviceRegressors, TakeTheStepsOfTheCpu) {
  for (const char* objective : {"snl", "nce", "is", "ranking-nce", "mdn"})
    expect_same_training(options(objective), {"y"});
}

TEST_F(DeviceRegressors, TakeThemWithEveryOption) {
  std::vector<RegressorOptions> cases(6, options("snl"));
  cases[0].own_features = cases[0].shared_scale = true;
  cases[0].weight = "w";
  cases[1].base = "broad";
  cases[1].learn_proposal = "kl";
  cases[2].learn_proposal = "both";
  cases[2].tail_weight = 0;
  cases[2].activation = "gelu";
  cases[3].noise_floor = 0.05;
  cases[3].normalizer = {};
  cases[3].activation = "tanh";
  cases[4].clip = 0.1;
  cases[4].ensemble = 2;
  cases[5].input_noise = 0;
  cases[5].samples = 40;
  for (const RegressorOptions& o : cases) expect_same_training(o, {"y"});
  expect_same_training(options("snl"), {"y", "z"});
}

// The draws are those of the CPU: numbers that say which component, and where in it.
TEST_F(DeviceRegressors, NumbersOfDrawsAreThoseThatDrawsAreMadeOf) {
  MixtureShape shape;
  shape.dimension = 2, shape.components = 3;
  const ConditionalMixture mixture(shape);
  const uint64_t rows = 40, each = 7;
  const std::vector<float> parameters = random_vector<float>(rows * shape.parameters(), 4);
  std::vector<float> y(rows * each * 2);
  mixture.sample({parameters.data(), rows, shape.parameters()}, each, 0.2, 9, y);
  std::vector<double> choice(rows * each), normal(y.size());
  mixture.sample_numbers(rows, 0.2, 9, choice, normal);
  uint64_t broad = 0;
  for (uint64_t i = 0; i < choice.size(); ++i) {
    const auto own =
        mixture.components(std::span(parameters).subspan(i / each * shape.parameters(), shape.parameters()));
    double u = choice[i];
    size_t k = 0;
    while (u >= 0 && k + 1 < own.size() && u >= own[k].weight) u -= own[k++].weight;
    broad += choice[i] < 0 ? 1 : 0;
    for (size_t j = 0; j < 2; ++j) {
      const double mean = choice[i] < 0 ? shape.broad_mean : own[k].mean[j],
                   scale = choice[i] < 0 ? shape.broad_scale : own[k].scale[j];
      EXPECT_NEAR(static_cast<double>(y[2 * i + j]), mean + scale * normal[2 * i + j], 1e-5);
    }
  }
  EXPECT_GT(broad, 30u);
  EXPECT_LT(broad, 90u);
}

TEST_F(DeviceRegressors, InterruptedAndResumedIsUninterrupted) {
  choose_device("cuda");
  const Frame data = frame();
  const std::string path = testing::TempDir() + "device_regressor_resume";
  std::filesystem::remove(path);
  const auto run = [&](TrainObserver& observer, bool resume) {
    return train_regressor(data, {"y"}, numbers(0, 200), numbers(200, 230), options("snl"),
                           {.path = path, .seconds = 1e9, .resume = resume}, observer);
  };
  Watcher observer;
  RegressorResult whole = trained("cuda", options("snl"), observer);
  int sessions = 0;
  RegressorResult parts = finished_in_sessions(run, 1, sessions);
  EXPECT_GE(sessions, 3);
  EXPECT_EQ(parameters_of(whole.model), parameters_of(parts.model));
  // The checkpoint of one device is not continued on another.
  std::filesystem::remove(path);
  Interrupter interrupter(1);
  EXPECT_TRUE(run(interrupter, false).interrupted);
  choose_device("cpu");
  EXPECT_THROW(run(observer, true), Error);
}

TEST_F(DeviceRegressors, AStepThatIsNotFiniteEndsTheRun) {
  RegressorOptions o = options("snl");
  o.learning_rate = 1e20;
  o.clip = 1e20;
  o.ramp = 0;
  Watcher here, there;
  const RegressorResult cpu = trained("cpu", o, here), gpu = trained("cuda", o, there);
  EXPECT_TRUE(cpu.diverged);
  EXPECT_TRUE(gpu.diverged);
}

TEST_F(DeviceRegressors, WhatAGpuCannotTrainIsSaidOrLeftToTheCpu) {
  struct Case {
    RegressorOptions options;
    std::string reason;
  };
  std::vector<Case> cases = {{options("mcmc"), "found the objective mcmc"},
                             {options("nce+"), "found the objective nce+"},
                             {options("snl"), "found a target with bounds"},
                             {options("snl"), "found columns of levels without a feature network"},
                             {options("snl"), "found a network of 9 layers"},
                             {options("snl"), "a row does not fit"}};
  cases[2].options.lower = {-10};
  cases[3].options.features = {};
  cases[4].options.joint = std::vector<uint32_t>(9, 4);
  cases[5].options.samples = 1001;  // more than the emulated module takes
  for (Case& c : cases) {
    c.options.epochs = 1;
    Watcher watcher;
    try {
      trained("cuda", c.options, watcher);
      ADD_FAILURE() << c.reason;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.reason), std::string::npos) << error.what();
    }
    const RegressorResult result = trained("auto", c.options, watcher);
    EXPECT_FALSE(nlohmann::json::parse(result.model.training_json).contains("device")) << c.reason;
  }
}

}  // namespace
}  // namespace selfnorm
