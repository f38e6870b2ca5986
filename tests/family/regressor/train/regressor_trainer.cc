#include "family/regressor/train/regressor_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "family/regressor/train/two_branches.h"
#include "interrupter.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_distribution.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Mean over x of KL(truth || model) by a grid, and the root mean square of b - A.
struct Fit {
  double divergence = 0, log_z_rms = 0;
};

Fit fit_of(const Regressor& model) {
  Frame frame;
  frame.file = "grid";
  frame.columns.resize(1);
  frame.columns[0].name = "x";
  for (double x = -0.9; x <= 0.9; x += 0.3) frame.columns[0].number.push_back(x), ++frame.rows;
  frame.line.assign(frame.rows, 0);
  EncodingReport report;
  const EncodedFrame inputs = model.encoder.encode(frame, report);
  const auto scores = prepare_scores(model, 0, inputs.view());
  const auto log_z = conditional_log_z(*scores);
  Fit fit;
  for (uint32_t i = 0; i < frame.rows; ++i) {
    std::vector<float> u;
    for (double y = -3; y < 3; y += 0.01)
      u.push_back(static_cast<float>((y - model.target_mean[0]) / model.target_scale[0]));
    const std::vector<uint32_t> row(u.size(), i);
    std::vector<double> s(u.size());
    scores->score({u.data(), u.size(), 1}, row, s);
    for (size_t j = 0; j < u.size(); ++j) {
      const double p = truth(frame.columns[0].number[i], -3 + 0.01 * static_cast<double>(j));
      if (p > 1e-12) fit.divergence += 0.01 * p * (std::log(p) - s[j] + log_z[i].value + model.log_volume());
    }
    fit.log_z_rms += std::pow(scores->normalizer(i) - log_z[i].value, 2);
  }
  fit.divergence /= static_cast<double>(frame.rows);
  fit.log_z_rms = std::sqrt(fit.log_z_rms / static_cast<double>(frame.rows));
  return fit;
}

std::vector<float> parameters_of(Regressor& model) {
  std::vector<float> all;
  for (RegressorNetworks& member : model.members)
    for (const std::span<float> block : member.parameters())
      all.insert(all.end(), block.begin(), block.end());
  return all;
}

class EveryRegressorObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryRegressorObjective, FindsTwoBranchesAndTheirNormalizer) {
  const Frame frame = two_branches(2000);
  TrainObserver observer;
  const RegressorResult result = train_regressor(frame, {"y"}, numbers(0, 1800), numbers(1800, 2000),
                                                 quick_regressor(GetParam()), {}, observer);
  EXPECT_FALSE(result.diverged);
  const Fit fit = fit_of(result.model);
  // Langevin without correction, smoothed targets, and derivatives that do not see how branches are shared.
  const bool is_biased = GetParam() == "mcmc" || GetParam() == "dsm" || GetParam() == "sm";
  EXPECT_LT(fit.divergence, is_biased ? 0.25 : 0.06);
  EXPECT_GT(fit.divergence, -1e-3);
  EXPECT_LT(fit.log_z_rms, is_biased ? 0.15 : 0.05);
}

TEST_P(EveryRegressorObjective, InterruptedAndResumedIsUninterrupted) {
  const Frame frame = two_branches(300);
  RegressorOptions options = quick_regressor(GetParam());
  options.epochs = 3;
  options.ensemble = GetParam() == "snl" ? 2 : 1;
  TrainObserver observer;
  RegressorResult whole =
      train_regressor(frame, {"y"}, numbers(0, 250), numbers(250, 300), options, {}, observer);
  const std::string path = testing::TempDir() + "regressor_resume." + GetParam();
  std::filesystem::remove(path);
  Interrupter interrupter(7);
  const RegressorResult part = train_regressor(frame, {"y"}, numbers(0, 250), numbers(250, 300), options,
                                               {.path = path, .seconds = 1e9, .resume = false}, interrupter);
  EXPECT_TRUE(part.interrupted);
  options.threads = 2;
  RegressorResult rest = train_regressor(frame, {"y"}, numbers(0, 250), numbers(250, 300), options,
                                         {.path = path, .seconds = 1e9, .resume = true}, observer);
  EXPECT_EQ(parameters_of(rest.model), parameters_of(whole.model));
  EXPECT_EQ(rest.model.training_json, whole.model.training_json);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRegressorObjective,
                         testing::Values("snl", "is", "nce", "ranking-nce", "nce+", "kld-is", "mcmc", "sm",
                                         "dsm"),
                         [](const auto& p) {
                           std::string name = p.param;
                           std::erase(name, '-');
                           if (name.back() == '+') name.back() = 'p';
                           return name;
                         });

TEST(RegressorTrainer, ResumesFromEveryStepOfEveryMember) {
  const Frame frame = two_branches(120);
  RegressorOptions options = quick_regressor("snl");
  options.epochs = 3;
  options.ensemble = 2;
  TrainObserver observer;
  RegressorResult whole = train_regressor(frame, {"y"}, numbers(0, 120), {}, options, {}, observer);
  const std::string path = testing::TempDir() + "regressor_resume_every";
  for (uint64_t step = 1; step <= 12; ++step) {
    std::filesystem::remove(path);
    Interrupter interrupter(step);
    const RegressorResult part =
        train_regressor(frame, {"y"}, numbers(0, 120), {}, options,
                        {.path = path, .seconds = 1e9, .resume = false}, interrupter);
    ASSERT_TRUE(part.interrupted) << step;
    RegressorResult rest = train_regressor(frame, {"y"}, numbers(0, 120), {}, options,
                                           {.path = path, .seconds = 1e9, .resume = true}, observer);
    EXPECT_EQ(parameters_of(rest.model), parameters_of(whole.model)) << step;
  }
}

// Noise and widths are chosen by a race, whose heats are steps of the run like all others.
void expect_a_race_resumes(uint64_t ensemble, const std::vector<uint64_t>& steps) {
  const Frame frame = two_branches(500);
  RegressorOptions options = quick_regressor("snl");
  options.ensemble = ensemble;
  options.features = {0};
  options.input_noise.reset();
  options.epochs = 1;
  options.batch = 150;
  TrainObserver observer;
  RegressorResult whole =
      train_regressor(frame, {"y"}, numbers(0, 300), numbers(300, 500), options, {}, observer);
  EXPECT_NE(whole.model.training_json.find(R"("race":[{"input_noise":0.02,"features":[64,64],"valid_nll":)"),
            std::string::npos)
      << whole.model.training_json;
  const std::string path = testing::TempDir() + "regressor_resume_race";
  for (const uint64_t step : steps) {
    std::filesystem::remove(path);
    Interrupter interrupter(step);
    const RegressorResult part =
        train_regressor(frame, {"y"}, numbers(0, 300), numbers(300, 500), options,
                        {.path = path, .seconds = 1e9, .resume = false}, interrupter);
    ASSERT_TRUE(part.interrupted) << step;
    RegressorResult rest = train_regressor(frame, {"y"}, numbers(0, 300), numbers(300, 500), options,
                                           {.path = path, .seconds = 1e9, .resume = true}, observer);
    EXPECT_EQ(parameters_of(rest.model), parameters_of(whole.model)) << step;
    EXPECT_EQ(rest.model.training_json, whole.model.training_json) << step;
    EXPECT_EQ(rest.model.members[0].temperature, whole.model.members[0].temperature) << step;
  }
}

TEST(RegressorTrainer, ARaceIsRecordedAndResumesFromEveryStep) {
  expect_a_race_resumes(1, {1, 2, 3, 4, 5, 6, 7});
  expect_a_race_resumes(2, {1, 9, 11, 15, 22, 31, 33});  // five folds of three mixtures, then the members
}

// Held-out targets that scatter twice as much: every mode is wider, and the density still integrates to 1.
TEST(RegressorTrainer, ATemperatureIsFittedOnHeldOutRows) {
  Frame frame = two_branches(1500);
  RandomStream random(9);
  for (uint64_t i = 1000; i < 1500; ++i)
    frame.columns[1].number[i] += std::sqrt(3) * kModeWidth * random.normal();
  RegressorOptions options = quick_regressor("snl");
  options.components = 2;
  options.epochs = 20;
  TrainObserver observer;
  const auto trained = [&] {
    return train_regressor(frame, {"y"}, numbers(0, 1000), numbers(1000, 1500), options, {}, observer);
  };
  const RegressorResult warm = trained();
  options.temperature = false;
  const RegressorResult cold = trained();
  EXPECT_GT(warm.model.members[0].temperature, 2);
  EXPECT_EQ(cold.model.members[0].temperature, 1);
  EXPECT_LT(warm.valid_nll.value(), cold.valid_nll.value() - 0.1);
  EXPECT_LT(fit_of(warm.model).log_z_rms, 0.05);  // b is fitted to the A of that temperature
  // Three held-out rows that weigh anything prove nothing.
  frame.columns.push_back({.name = "w"});
  for (uint64_t i = 0; i < 1500; ++i) frame.columns.back().number.push_back(i < 1000 || i % 160 == 0 ? 1 : 0);
  options.temperature = true;
  options.weight = "w";
  EXPECT_EQ(trained().model.members[0].temperature, 1);
}

// Noise in training blurs every member; rows that an average of others did not see say so.
TEST(RegressorTrainer, AnAverageOfMembersThatIsTooWideIsNarrowed) {
  const Frame frame = two_branches(800);
  RegressorOptions options = quick_regressor("snl");
  options.components = 2;
  options.epochs = 20;
  options.ensemble = 2;
  options.input_noise = 0.7;
  TrainObserver observer;
  const RegressorResult result = train_regressor(frame, {"y"}, numbers(0, 800), {}, options, {}, observer);
  EXPECT_LT(result.model.members[0].temperature, 0.8);
  EXPECT_LT(fit_of(result.model).log_z_rms, 0.05);
  const auto record = nlohmann::json::parse(result.model.training_json)["temperatures"];
  EXPECT_LT(record["valid_nll"].get<double>(), record["valid_nll_at_1"].get<double>());
  EXPECT_EQ(record["rows"], 800);
  options.temperature = false;
  const RegressorResult wide = train_regressor(frame, {"y"}, numbers(0, 800), {}, options, {}, observer);
  EXPECT_EQ(wide.model.members[0].temperature, 1);
}

TEST(RegressorTrainer, AMixtureAloneIsNormalised) {
  const Frame frame = two_branches(2000);
  RegressorOptions options = quick_regressor("mdn");
  options.components = 2;
  TrainObserver observer;
  const RegressorResult result =
      train_regressor(frame, {"y"}, numbers(0, 1800), numbers(1800, 2000), options, {}, observer);
  const Fit fit = fit_of(result.model);
  EXPECT_LT(fit.divergence, 0.06);
  EXPECT_LT(fit.log_z_rms, 1e-4);
}

// b as trained, before it is fitted to exact values.
TEST(RegressorTrainer, TheLearnedNormalizerIsLogZ) {
  const Frame frame = two_branches(2000);
  RegressorOptions options = quick_regressor("snl");
  options.calibrate = false;
  TrainObserver observer;
  const RegressorResult result =
      train_regressor(frame, {"y"}, numbers(0, 1800), numbers(1800, 2000), options, {}, observer);
  EXPECT_LT(fit_of(result.model).log_z_rms, 0.1);
}

TEST(RegressorTrainer, LearnsWithoutABaseAndWithAProposalThatFollowsTheModel) {
  const Frame frame = two_branches(2000);
  for (const char* how : {"kl", "both"}) {
    RegressorOptions options = quick_regressor("snl");
    options.base = "broad";
    options.learn_proposal = how;
    TrainObserver observer;
    const RegressorResult result =
        train_regressor(frame, {"y"}, numbers(0, 1800), numbers(1800, 2000), options, {}, observer);
    EXPECT_LT(fit_of(result.model).divergence, 0.1) << how;
  }
}

// y = 2 x + 1 + noise: the linear Gaussian model has a closed form.
TEST(RegressorTrainer, LinearFeaturesAndASharedScaleAreLeastSquares) {
  Frame frame = two_branches(1000);
  RandomStream random(5);
  double xx = 0, xy = 0, x_mean = 0, y_mean = 0;
  for (uint64_t i = 0; i < frame.rows; ++i) {
    const double x = frame.columns[0].number[i];
    frame.columns[1].number[i] = 2 * x + 1 + 0.3 * random.normal();
    x_mean += x / 1000, y_mean += frame.columns[1].number[i] / 1000;
  }
  for (uint64_t i = 0; i < frame.rows; ++i) {
    const double x = frame.columns[0].number[i] - x_mean;
    xx += x * x, xy += x * (frame.columns[1].number[i] - y_mean);
  }
  RegressorOptions options = quick_regressor("mdn");
  options.features = {};
  options.shared_scale = true;
  options.tail_weight = 0;
  options.epochs = 100;
  TrainObserver observer;
  RegressorResult result = train_regressor(frame, {"y"}, numbers(0, 1000), {}, options, {}, observer);
  Frame two = frame;
  two.rows = 2;
  two.columns[0].number = {0, 1};
  EncodingReport report;
  const EncodedFrame inputs = result.model.encoder.encode(two, report);
  const auto scores = prepare_scores(result.model, 0, inputs.view());
  const auto at = [&](uint64_t i) {
    return result.model.target_mean[0] + result.model.target_scale[0] * scores->places(i)[0].mean[0];
  };
  EXPECT_NEAR(at(1) - at(0), xy / xx, 0.02);
  EXPECT_NEAR(at(0), y_mean - x_mean * xy / xx, 0.02);
  EXPECT_EQ(scores->places(0)[0].scale[0], scores->places(1)[0].scale[0]);
  EXPECT_NEAR(scores->places(0)[0].scale[0] * result.model.target_scale[0], 0.3, 0.02);
}

// Levels that a member's rows do not have are no parameters of linear features.
TEST(RegressorTrainer, ResumesEnsemblesOfLinearModelsWithLevels) {
  Frame frame = two_branches(120);
  FrameColumn group;
  group.name = "group";
  group.is_numeric = false;
  group.levels = {"a", "b", "c"};
  for (uint32_t i = 0; i < 120; ++i) group.level.push_back(i % 3);
  frame.columns.push_back(group);
  RegressorOptions options = quick_regressor("mdn");
  options.features = {};
  options.epochs = 3;
  options.ensemble = 2;
  TrainObserver observer;
  const RegressorResult whole = train_regressor(frame, {"y"}, numbers(0, 120), {}, options, {}, observer);
  const std::string path = testing::TempDir() + "regressor_resume_linear";
  std::filesystem::remove(path);
  Interrupter interrupter(8);
  EXPECT_TRUE(train_regressor(frame, {"y"}, numbers(0, 120), {}, options,
                              {.path = path, .seconds = 1e9, .resume = false}, interrupter)
                  .interrupted);
  const RegressorResult rest = train_regressor(frame, {"y"}, numbers(0, 120), {}, options,
                                               {.path = path, .seconds = 1e9, .resume = true}, observer);
  const float x = 0.5f;
  const uint32_t unseen = 0;
  for (size_t member = 0; member < 2; ++member) {
    const auto place = [&](const Regressor& model) {
      return prepare_scores(model, member, {{&x, 1, 1}, &unseen, 1})->places(0)[0].mean[0];
    };
    EXPECT_EQ(place(whole.model), place(rest.model)) << member;
  }
}

TEST(RegressorTrainer, TwoTargets) {
  Frame frame = two_branches(500);
  frame.columns.push_back(frame.columns[1]);
  frame.columns[2].name = "z";
  for (double& z : frame.columns[2].number) z *= z;
  RegressorOptions options = quick_regressor("snl");
  options.epochs = 10;
  TrainObserver observer;
  const RegressorResult result =
      train_regressor(frame, {"y", "z"}, numbers(0, 400), numbers(400, 500), options, {}, observer);
  EXPECT_FALSE(result.diverged);
  EXPECT_TRUE(std::isfinite(result.valid_nll.value()));
}

TEST(RegressorTrainer, UnusableTargetsAndOptionsAreNamed) {
  Frame frame = two_branches(100);
  TrainObserver observer;
  const auto message = [&](const std::vector<std::string>& targets, uint64_t rows, RegressorOptions options) {
    try {
      train_regressor(frame, targets, numbers(0, rows), {}, options, {}, observer);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message({"y"}, 1, quick_regressor("snl")).find("1 rows"), std::string::npos);
  EXPECT_NE(message({"w"}, 100, quick_regressor("snl")).find("w"), std::string::npos);
  EXPECT_NE(message({}, 100, quick_regressor("snl")).find("0 targets"), std::string::npos);
  RegressorOptions options = quick_regressor("snl");
  options.objective = "magic";
  EXPECT_NE(message({"y"}, 100, options).find("objective"), std::string::npos);
  frame.columns[1].number.assign(100, 3.0);
  EXPECT_NE(message({"y"}, 100, quick_regressor("snl")).find("nothing to predict"), std::string::npos);
  frame.columns[1].number[5] = std::nan("");
  EXPECT_NE(message({"y"}, 100, quick_regressor("snl")).find("missing"), std::string::npos);
  frame = two_branches(100);
  frame.columns[0].number.assign(100, 1.0);
  EXPECT_NE(message({"y"}, 100, quick_regressor("snl")).find("no column"), std::string::npos);
}

struct RegressorListener : TrainObserver {
  void on_warning(const std::string& text) override { heard += text; }
  std::string heard;
};

TEST(RegressorTrainer, FewDistinctValuesAreWarnedOfAndANoiseFloorBoundsTheLikelihood) {
  Frame frame = two_branches(400);
  for (double& y : frame.columns[1].number) y = std::round(y);
  RegressorOptions options = quick_regressor("mdn");
  options.components = 4;
  RegressorListener listener;
  const RegressorResult free =
      train_regressor(frame, {"y"}, numbers(0, 350), numbers(350, 400), options, {}, listener);
  EXPECT_NE(listener.heard.find("noise-floor"), std::string::npos);
  RegressorListener second;
  options.noise_floor = 0.3;
  const RegressorResult bounded =
      train_regressor(frame, {"y"}, numbers(0, 350), numbers(350, 400), options, {}, second);
  EXPECT_EQ(second.heard.find("noise-floor"), std::string::npos);
  EXPECT_LT(free.valid_nll.value(), bounded.valid_nll.value() - 0.5);
}

TEST(RegressorTrainer, TextsAmongNumbersAreNamed) {
  Frame frame = two_branches(50);
  FrameColumn column;
  column.name = "z";
  column.is_numeric = false;
  column.levels = {"1", "2", "oops"};
  for (uint32_t i = 0; i < 50; ++i) column.level.push_back(i == 7 ? 2 : i % 2);
  frame.columns.push_back(column);
  RegressorOptions options = quick_regressor("mdn");
  options.epochs = 1;
  TrainObserver observer;
  try {
    train_regressor(frame, {"y"}, numbers(0, 50), {}, options, {}, observer);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.line(), 9u);
    EXPECT_NE(std::string(error.what()).find("found 'oops' in column z"), std::string::npos) << error.what();
  }
  options.categorical = {"z"};
  train_regressor(frame, {"y"}, numbers(0, 50), {}, options, {}, observer);
  options.categorical = {};
  for (const uint32_t row : {10, 11, 12, 13, 14, 15}) frame.columns[2].level[row] = 2;
  RegressorListener listener;
  train_regressor(frame, {"y"}, numbers(0, 50), {}, options, {}, listener);
  EXPECT_NE(listener.heard.find("line 9: found 'oops'"), std::string::npos) << listener.heard;
}

// A mixture that learns 30 rows by heart is best long before the tilt begins.
TEST(RegressorTrainer, SaysWhenTheMixtureAloneIsKept) {
  const Frame frame = two_branches(130);
  RegressorOptions options = quick_regressor("snl");
  options.components = 8;
  options.features = {64, 64};
  options.warm_up = 0.95;
  options.epochs = 300;
  options.checks = 20;
  RegressorListener listener;
  train_regressor(frame, {"y"}, numbers(0, 30), numbers(30, 130), options, {}, listener);
  EXPECT_NE(listener.heard.find("the mixture alone"), std::string::npos) << listener.heard;
}

// Whatever the last good model is, p(y|x) of every row of the data has an integral; and a run that diverged
// has diverged when its last checkpoint is resumed.
TEST(RegressorTrainer, DivergenceKeepsAModelThatCanBeUsed) {
  const Frame frame = two_branches(400);
  const std::string path = testing::TempDir() + "regressor_diverged";
  int diverged = 0;
  for (const char* objective : {"snl", "mdn"})
    for (const auto& [rate, batch, epochs, warm_up] :
         {std::tuple{1e4, 100u, 1u, 0.0}, {1e6, 400u, 1u, 0.0}, {1e6, 256u, 10u, 0.3}, {1e20, 400u, 1u, 0.0}})
      for (const uint64_t valid : {0, 50}) {
        RegressorOptions options;
        options.objective = objective;
        options.ensemble = 1;
        options.input_noise = 0.02;
        options.calibrate = false;
        options.epochs = epochs;
        options.batch = batch;
        options.warm_up = warm_up;
        options.learning_rate = rate;
        std::filesystem::remove(path);
        RegressorListener listener;
        const auto run = [&](bool resume) {
          return train_regressor(frame, {"y"}, numbers(0, 400 - valid), numbers(400 - valid, 400), options,
                                 {.path = path, .seconds = 0, .resume = resume}, listener);
        };
        RegressorResult result = run(false);
        SCOPED_TRACE(testing::Message() << objective << " " << rate << " " << batch << " " << epochs << " "
                                        << valid << ": " << result.reason << listener.heard);
        diverged += result.diverged ? 1 : 0;
        if (valid == 0) {
          EXPECT_EQ(listener.heard.find("held-out"), std::string::npos);
        }
        EncodingReport report;
        const EncodedFrame inputs = result.model.encoder.encode(frame, report);
        EXPECT_NO_THROW(conditional_quadrature(*prepare_scores(result.model, 0, inputs.view())));
        RegressorResult again = run(true);
        EXPECT_EQ(again.diverged, result.diverged);
        EXPECT_EQ(parameters_of(again.model), parameters_of(result.model));
        EXPECT_EQ(again.model.training_json, result.model.training_json);
      }
  EXPECT_GT(diverged, 5);
}

TEST(RegressorTrainer, DifferentValuesAreNotCalledRepeated) {
  const Frame frame = two_branches(12);
  RegressorOptions options = quick_regressor("mdn");
  options.epochs = 1;
  RegressorListener listener;
  train_regressor(frame, {"y"}, numbers(0, 12), {}, options, {}, listener);
  EXPECT_EQ(listener.heard, "");
}

}  // namespace
}  // namespace selfnorm
