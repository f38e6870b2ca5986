// Through the emulated module (tests/gpu/emulated), whose steps are those of the referee in
// gpu/energy_reference.h: what it does with them has to be what the CPU's own network does.
#include "family/density/train/device_density.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "family/density/train/density_trainer.h"
#include "interrupter.h"
#include "math/random.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct DeviceDensities : testing::Test {
  DeviceDensities() { setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1); }
  ~DeviceDensities() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }

  // Two bumps and a ring, in two columns.
  static std::unique_ptr<PointSource> points(uint64_t rows) {
    RandomStream random(3);
    std::vector<float> values;
    for (uint64_t i = 0; i < rows; ++i) {
      const double side = random.uniform() < 0.4 ? -1.5 : 1.0;
      values.push_back(static_cast<float>(side + 0.5 * random.normal()));
      values.push_back(static_cast<float>(std::sin(2 * side) + 0.3 * random.normal()));
    }
    return make_point_source(2, std::move(values));
  }

  static DensityOptions options(const std::string& objective) {
    DensityOptions o;
    o.energy = "mlp:12,12";
    o.fourier = "4";
    o.objective = objective;
    o.proposal = "gaussian";
    o.samples = 96;
    o.batch = 64;
    o.steps = 60;
    o.learning_rate = 5e-3;
    o.normalizer_steps = 10;
    return o;
  }

  struct Watcher : TrainObserver {
    std::vector<std::string> warnings;
    std::vector<Progress> progress;
    void on_warning(const std::string& text) override { warnings.push_back(text); }
    void on_progress(const Progress& p) override { progress.push_back(p); }
  };

  static DensityResult trained(const std::string& device, const DensityOptions& o, Watcher& watcher) {
    choose_device(device);
    const auto data = points(500);
    return train_density(*data, numbers(0, 400), numbers(400, 500), o, {}, watcher);
  }

  static void expect_near(const DensityModel& a, const DensityModel& b, double tolerance) {
    const auto here = std::as_const(*a.energy).parameters(), there = std::as_const(*b.energy).parameters();
    ASSERT_EQ(here.size(), there.size());
    double square = 0, norm = 0;
    for (size_t i = 0; i < here.size(); ++i) {
      square += std::pow(static_cast<double>(here[i]) - static_cast<double>(there[i]), 2);
      norm += std::pow(static_cast<double>(here[i]), 2);
    }
    EXPECT_LE(std::sqrt(square / norm), tolerance);
    EXPECT_NEAR(a.log_normalizer, b.log_normalizer, 10 * tolerance);
  }
};

TEST_F(DeviceDensities, TakeTheStepsOfTheCpu) {
  std::vector<DensityOptions> cases = {options("snl"), options("nce"), options("snl"), options("nce"),
                                       options("snl")};
  cases[2].mlp.residual = true;
  cases[2].mlp.activation = "gelu";
  cases[2].weight_decay = 0.01;
  cases[3].base = cases[4].base = "none";  // log q does not cancel
  cases[4].normalizer = "zero";
  cases[4].mlp.activation = "tanh";
  for (const DensityOptions& o : cases) {
    Watcher here, there;
    const DensityResult cpu = trained("cpu", o, here), gpu = trained("cuda", o, there);
    EXPECT_FALSE(gpu.diverged) << gpu.reason;
    expect_near(cpu.model, gpu.model, 2e-3);
    ASSERT_EQ(here.progress.size(), there.progress.size());
    for (size_t i = 0; i < here.progress.size(); ++i) {
      EXPECT_EQ(here.progress[i].step, there.progress[i].step);
      EXPECT_NEAR(here.progress[i].loss, there.progress[i].loss,
                  1e-3 * (1 + std::abs(here.progress[i].loss)));
      EXPECT_NEAR(here.progress[i].gradient_norm, there.progress[i].gradient_norm,
                  1e-2 * (1 + here.progress[i].gradient_norm));
      EXPECT_NEAR(here.progress[i].log_normalizer.value_or(0), there.progress[i].log_normalizer.value_or(0),
                  1e-3);
      EXPECT_NEAR(here.progress[i].effective_samples.value_or(0),
                  there.progress[i].effective_samples.value_or(0), 0.1);
    }
    EXPECT_FALSE(nlohmann::json::parse(cpu.model.training_json).contains("device"));
    EXPECT_EQ(nlohmann::json::parse(gpu.model.training_json)["device"], "emulated");
  }
}

// b is estimated anew on the host, at the step where the CPU does it, and the step's move follows.
TEST_F(DeviceDensities, BThatDriftsIsEstimatedAnew) {
  size_t drifts = 0;
  for (const double drift : {0.002, 0.001, 0.0005}) {
    DensityOptions o = options("snl");
    o.drift = drift;
    Watcher here, there;
    const DensityResult cpu = trained("cpu", o, here), gpu = trained("cuda", o, there);
    drifts += here.warnings.size();
    EXPECT_EQ(here.warnings, there.warnings);
    EXPECT_EQ(cpu.diverged, gpu.diverged);
    expect_near(cpu.model, gpu.model, 5e-3);
  }
  EXPECT_GT(drifts, 0u);
}

// A rate at which few draws carry the weight: both go back to what they remember.
TEST_F(DeviceDensities, LostDrawsGoBack) {
  DensityOptions o = options("snl");
  o.learning_rate = 0.3;
  o.samples = 16;
  o.drift = 50;
  o.clip = 1000;
  Watcher here, there;
  const DensityResult cpu = trained("cpu", o, here), gpu = trained("cuda", o, there);
  EXPECT_EQ(cpu.diverged, gpu.diverged);
  EXPECT_EQ(cpu.reason.substr(0, 20), gpu.reason.substr(0, 20));
}

TEST_F(DeviceDensities, InterruptedAndResumedIsUninterrupted) {
  choose_device("cuda");
  const auto data = points(500);
  const std::string path = testing::TempDir() + "device_density_resume";
  std::filesystem::remove(path);
  const auto run = [&](TrainObserver& observer, bool resume) {
    return train_density(*data, numbers(0, 400), numbers(400, 500), options("snl"),
                         {.path = path, .seconds = 1e9, .resume = resume}, observer);
  };
  TrainObserver observer;
  const DensityResult whole =
      train_density(*data, numbers(0, 400), numbers(400, 500), options("snl"), {}, observer);
  int sessions = 0;
  const DensityResult parts = finished_in_sessions(run, 7, sessions);
  EXPECT_GT(sessions, 3);
  const auto a = std::as_const(*whole.model.energy).parameters(),
             b = std::as_const(*parts.model.energy).parameters();
  EXPECT_EQ(std::vector(a.begin(), a.end()), std::vector(b.begin(), b.end()));
  EXPECT_EQ(whole.model.log_normalizer, parts.model.log_normalizer);
  // The checkpoint of one device is not continued on another.
  std::filesystem::remove(path);
  Interrupter interrupter(7);
  EXPECT_TRUE(run(interrupter, false).interrupted);
  choose_device("cpu");
  EXPECT_THROW(run(observer, true), Error);
}

TEST_F(DeviceDensities, WhatAGpuCannotTrainIsSaidOrLeftToTheCpu) {
  for (DensityOptions o : {options("is"), options("snl"), options("snl")}) {
    static int turn = 0;
    if (turn == 1) o.mlp.spectral_norm = true;
    if (turn == 2) o.learn_proposal = "data";
    ++turn;
    o.steps = 5;
    Watcher watcher;
    EXPECT_THROW(trained("cuda", o, watcher), Error);
    const DensityResult result = trained("auto", o, watcher);
    EXPECT_FALSE(nlohmann::json::parse(result.model.training_json).contains("device"));
  }
}

}  // namespace
}  // namespace selfnorm
