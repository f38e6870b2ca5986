// The path of l2 from strong to weak, and how often training is checked.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "audit/evaluation.h"
#include "family/classifier/saturated.h"
#include "family/classifier/trainer.h"
#include "family/classifier/validation.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Labels of which half are noise, and more features than rows: what the path ends at is better on held-out
// rows than either end of it, and recorded; a path that ends where it starts is none.
TEST(L2Path, EndsWhereHeldOutRowsWantIt) {
  Dataset data = random_dataset({.rows = 600, .features = 150, .classes = 3}, 5);
  RandomStream random(7);
  for (uint64_t i = 0; i < data.examples(); ++i) {
    const auto x = data.features.dense.row(i);
    if (random.uniform() < 0.6) data.target.own()[i] = x[0] > x[1] ? 0 : x[2] > 0 ? 1 : 2;
  }
  const auto parts = hold_out(data, 0.5, 1);
  const Dataset &rest = parts.first, &valid = parts.second;
  const auto trained = [&](double l2, double from) {
    TrainOptions options;
    options.objective.name = "exact";
    options.l2 = l2;
    options.l2_from = from;
    TrainObserver observer;
    return train_classifier(rest, valid, options, {}, observer).model;
  };
  const ModelFile path = trained(1e-6, 16);
  const double found = nlohmann::json::parse(path.training_json)["l2"];
  EXPECT_LT(found, 16);
  EXPECT_GT(found, 1e-6);
  EXPECT_NEAR(std::log(found) / std::log(4.0), std::round(std::log(found) / std::log(4.0)), 1e-9);
  const double nll = evaluate(path, valid).nll_exact;
  EXPECT_LT(nll, evaluate(trained(1e-6, 0), valid).nll_exact);
  EXPECT_LT(nll, evaluate(trained(16, 0), valid).nll_exact);
  EXPECT_TRUE(trained(0.5, 0.5) == trained(0.5, 0));
}

struct PathListener : TrainObserver {
  uint64_t reports = 0, checks = 0;
  std::string said;
  void on_progress(const Progress& progress) override {
    ++reports;
    checks += progress.valid_nll ? 1 : 0;
  }
  void on_warning(const std::string& text) override { said += text; }
  void on_note(const std::string& text) override { said += text; }
};

double recorded_l2(const TrainResult& result) {
  return nlohmann::json::parse(result.model.training_json)["l2"];
}

// At a maximum that is inside, weaker l2 change nothing in the end.
TEST(L2Path, EndsWhereItChangesNothing) {
  const Saturated truth;
  PathListener observer;
  TrainOptions options;
  options.objective.name = "exact";
  options.l2 = 0;
  options.l2_from = 1;
  options.patience = 10'000;
  const TrainResult result = train_classifier(truth.data, truth.data, options, {}, observer);
  EXPECT_LT(observer.reports, 200u);
  EXPECT_EQ(observer.said.find("single step"), std::string::npos) << observer.said;
  EXPECT_NEAR(evaluate(result.model, truth.data).nll_exact, truth.entropy(), 1e-3);
}

// With a rough optimiser every part is a few iterations. Held-out labels that contradict the others want the
// strongest l2, at which the path begins.
TEST(L2Path, EveryPartIsJudged) {
  const Saturated truth;
  Dataset other = truth.data;
  for (uint32_t& y : other.target.own()) y = (y + 1) % Saturated::kClasses;
  PathListener observer;
  TrainOptions options;
  options.objective.name = "exact";
  options.l2 = 1e-6;
  options.l2_from = 1;
  options.tolerance = 0.2;
  const TrainResult result = train_classifier(truth.data, other, options, {}, observer);
  EXPECT_EQ(recorded_l2(result), 1);
  EXPECT_GE(observer.checks, 2u);
}

// Nothing would keep the best of it.
TEST(L2Path, IsNoneWithoutPatience) {
  const Saturated truth;
  TrainOptions options;
  options.objective.name = "exact";
  options.l2 = 0.01;
  options.patience = 0;
  TrainObserver nobody;
  const TrainResult plain = train_classifier(truth.data, truth.data, options, {}, nobody);
  options.l2_from = 1;
  PathListener observer;
  const TrainResult path = train_classifier(truth.data, truth.data, options, {}, observer);
  EXPECT_EQ(path.model.weight, plain.model.weight);
  EXPECT_EQ(observer.said, "");
}

// Checks of groups cost no more than steps, so there is one after every epoch; few rows are checked as often.
TEST(Trainer, GroupsAreCheckedEveryEpoch) {
  const Dataset data = random_groups(120, 3, 1);
  const auto [rest, valid] = hold_out(data, 0.3, 1);
  PathListener observer;
  TrainOptions options;
  options.objective.name = "exact";
  options.optimiser = "adagrad";
  options.epochs = 6;
  options.patience = 100;
  train_classifier(rest, valid, options, {}, observer);
  EXPECT_EQ(observer.checks, 6u);
  EXPECT_GT(affordable_rows(0, 0), 1e9);
  EXPECT_EQ(validation_effort(100, 10, 8).epochs, 1u);
  EXPECT_GT(validation_effort(100, 10).epochs, 1u);
}

TEST(L2Path, NeedsFullPasses) {
  const Dataset data = random_dataset({}, 1);
  TrainOptions options;
  options.l2_from = 1;
  options.optimiser = "adagrad";
  TrainObserver observer;
  EXPECT_THROW(train_classifier(data, std::nullopt, options, {}, observer), Error);
}

// With few held-out rows the folds decide, and the floor of the path is theirs: what every tenth row happens
// to say does not matter much.
TEST(L2Path, FewHeldOutRowsDoNotChooseAlone) {
  Dataset data = random_dataset({.rows = 300, .features = 20, .classes = 2}, 9);
  RandomStream random(11);
  for (uint64_t i = 0; i < data.examples(); ++i)
    data.target.own()[i] =
        data.features.dense.row(i)[0] + 1.5f * static_cast<float>(random.normal()) > 0 ? 1 : 0;
  Dataset test = subset(data, numbers(0, 150));
  data = subset(data, numbers(150, 300));
  TrainOptions options;
  options.objective.name = "exact";
  options.l2 = 0;
  options.l2_from = 100.0 / 150;
  TrainObserver observer;
  for (const uint64_t seed : {1, 2, 3}) {
    options.seed = seed;
    const auto [rest, valid] = hold_out(data, 0.1, seed);
    const TrainResult result = train_classifier(rest, valid, options, {}, observer);
    EXPECT_LT(evaluate(result.model, test).nll_exact, std::log(2.0)) << seed;
    EXPECT_GT(nlohmann::json::parse(result.model.training_json)["l2"].get<double>(), 0.01) << seed;
  }
}

}  // namespace
}  // namespace selfnorm
