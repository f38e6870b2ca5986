#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "family/classifier/trainer.h"
#include "selfnorm/classifier.h"

namespace selfnorm {
namespace {

// Two clouds for each class, on a line.
struct PartRows {
  std::vector<float> x;
  std::vector<uint32_t> y;

  Rows rows() const { return {x, 2}; }
  Labels labels() const { return {{"a", "b", "c"}, y}; }
};

PartRows part_rows(uint64_t n, uint64_t seed, uint32_t classes = 3) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0, 0.6f);
  PartRows out;
  for (uint64_t i = 0; i < n; ++i) {
    const auto k = static_cast<uint32_t>(i % classes);
    out.x.insert(out.x.end(), {static_cast<float>(k) + noise(random), noise(random)});
    out.y.push_back(k);
  }
  return out;
}

double mean_nll(const Classifier& model, const PartRows& data) {
  return model.evaluate(data.rows(), data.labels()).nll_exact;
}

// One part is an epoch of minibatches without anything held out, at a rate that no schedule lowers.
TEST(TrainingInParts, APartIsAnEpochOfTheTrainer) {
  const PartRows data = part_rows(1000, 1);
  for (const char* objective : {"exact", "penalty"}) {
    for (const char* optimiser : {"adagrad", "adam"}) {
      const Classifier model =
          Classifier::train_part(nullptr, data.rows(), data.labels(),
                                 {{"objective", objective}, {"optimiser", optimiser}, {"batch", 64}});
      Dataset same;
      same.features.is_sparse = false;
      same.features.dense = {1000, 2, data.x};
      same.labels = {"a", "b", "c"};
      same.target = data.y;
      TrainOptions options;
      options.objective.name = objective;
      options.optimiser = optimiser;
      options.batch = 64;
      options.epochs = 1;
      options.schedule = "constant";
      options.scale = "none";
      TrainObserver silent;
      const ModelFile expected = train_classifier(same, std::nullopt, options, {}, silent).model;
      const std::string path = testing::TempDir() + "a_part.safetensors";
      model.save(path);
      const ModelFile found = load_model(path);
      EXPECT_EQ(found.weight, expected.weight);
      EXPECT_EQ(found.bias, expected.bias);
      EXPECT_EQ(found.log_normalizer, expected.log_normalizer);
    }
  }
}

TEST(TrainingInParts, PartsComeToTheModelOfAllRows) {
  const PartRows test = part_rows(3000, 2);
  Classifier model =
      Classifier::train_part(nullptr, part_rows(200, 100).rows(), part_rows(200, 100).labels());
  const double early = mean_nll(model, test);
  PartRows all;
  for (uint64_t part = 0; part < 30; ++part) {
    const PartRows rows = part_rows(200, 101 + part);
    model = Classifier::train_part(&model, rows.rows(), rows.labels(), {{"batch", 50}});
    all.x.insert(all.x.end(), rows.x.begin(), rows.x.end());
    all.y.insert(all.y.end(), rows.y.begin(), rows.y.end());
  }
  const Classifier whole = Classifier::train(all.rows(), all.labels(), {{"objective", "exact"}});
  EXPECT_LT(mean_nll(model, test), early);
  EXPECT_NEAR(mean_nll(model, test), mean_nll(whole, test), 0.02);
}

TEST(TrainingInParts, WhatCameBeforeStaysAsItWas) {
  const PartRows first = part_rows(100, 3), second = part_rows(100, 4);
  const Classifier before = Classifier::train_part(nullptr, first.rows(), first.labels());
  const auto expected = before.log_probabilities(first.rows());
  const Classifier a = Classifier::train_part(&before, second.rows(), second.labels()),
                   b = Classifier::train_part(&before, second.rows(), second.labels());
  EXPECT_EQ(before.log_probabilities(first.rows()), expected);
  EXPECT_EQ(a.log_probabilities(first.rows()), b.log_probabilities(first.rows()));
  EXPECT_NE(a.log_probabilities(first.rows()), expected);
}

TEST(TrainingInParts, AClassMayComeLater) {
  const PartRows two = part_rows(400, 5, 2), three = part_rows(400, 6);
  Classifier model = Classifier::train_part(nullptr, two.rows(), two.labels());
  const double before = mean_nll(model, three);
  for (int i = 0; i < 20; ++i) model = Classifier::train_part(&model, three.rows(), three.labels());
  EXPECT_LT(mean_nll(model, three), before - 0.2);
  const auto best = model.predict_index(three.rows());
  EXPECT_GT(std::count(best.begin(), best.end(), 2u), 50);
}

TEST(TrainingInParts, WeightsCountAndRowsWithoutChangeNothing) {
  const PartRows data = part_rows(300, 7);
  const Classifier before = Classifier::train_part(nullptr, data.rows(), data.labels());
  const std::vector<float> none(300, 0), some = [&] {
    std::vector<float> out(300, 1);
    for (size_t i = 0; i < 300; ++i) out[i] = data.y[i] == 2 ? 5.0f : 1.0f;
    return out;
  }();
  EXPECT_EQ(
      Classifier::train_part(&before, data.rows(), data.labels(), {}, none).log_probabilities(data.rows()),
      before.log_probabilities(data.rows()));
  const auto mass = [&](const Classifier& model) {
    const auto p = model.log_probabilities(data.rows());
    double sum = 0;
    for (size_t i = 2; i < p.size(); i += 3) sum += std::exp(p[i]);
    return sum;
  };
  EXPECT_GT(mass(Classifier::train_part(&before, data.rows(), data.labels(), {}, some)),
            mass(Classifier::train_part(&before, data.rows(), data.labels())));
}

TEST(TrainingInParts, AModelOfAFileGoesOn) {
  const PartRows data = part_rows(600, 8);
  const std::string path = testing::TempDir() + "goes_on.safetensors";
  Classifier::train(data.rows(), data.labels(), {{"objective", "exact"}}).save(path);
  const Classifier loaded = Classifier::load(path);
  const Classifier next =
      Classifier::train_part(&loaded, data.rows(), data.labels(), {{"learning-rate", 0.01}});
  EXPECT_NEAR(mean_nll(next, data), mean_nll(loaded, data), 0.01);
  EXPECT_NE(next.log_probabilities(data.rows()), loaded.log_probabilities(data.rows()));
}

Classifier by_its_file(const Classifier& model, const char* name) {
  const std::string path = testing::TempDir() + name;
  model.save(path);
  return Classifier::load(path);
}

// A file holds no memory of steps, and the optimiser that comes has none either.
TEST(TrainingInParts, AnotherOptimiserStartsAnew) {
  const PartRows data = part_rows(300, 10);
  for (const auto& [first, then] : {std::pair{"adagrad", "adam"}, std::pair{"adam", "adagrad"}}) {
    const Classifier before =
        Classifier::train_part(nullptr, data.rows(), data.labels(), {{"optimiser", first}});
    const Classifier loaded = by_its_file(before, "other_optimiser.safetensors");
    EXPECT_EQ(Classifier::train_part(&before, data.rows(), data.labels(), {{"optimiser", then}})
                  .log_probabilities(data.rows()),
              Classifier::train_part(&loaded, data.rows(), data.labels(), {{"optimiser", then}})
                  .log_probabilities(data.rows()));
  }
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

const Options kNoSteps = {{"objective", "penalty"}, {"learning-rate", 1e-9}};

TEST(TrainingInParts, ALearningRateThatIsGivenCounts) {
  const PartRows data = part_rows(300, 11);
  const Classifier before =
      Classifier::train_part(nullptr, data.rows(), data.labels(), {{"objective", "penalty"}});
  expect_near(
      Classifier::train_part(&before, data.rows(), data.labels(), kNoSteps).log_probabilities(data.rows()),
      before.log_probabilities(data.rows()));
}

// A centre starts at the constant of the model, and goes without taking anything with it.
TEST(TrainingInParts, ALearnedCentreMayComeAndGo) {
  const PartRows data = part_rows(300, 12);
  Options learned = kNoSteps;
  learned.insert({"learn-centre", "true"});
  const Classifier before = Classifier::train_part(nullptr, data.rows(), data.labels());
  const Classifier with = Classifier::train_part(&before, data.rows(), data.labels(), learned);
  expect_near(with.raw_log_probabilities(data.rows()), before.raw_log_probabilities(data.rows()));
  const Classifier without = Classifier::train_part(&with, data.rows(), data.labels(), kNoSteps);
  expect_near(without.log_probabilities(data.rows()), before.log_probabilities(data.rows()));
  const Classifier again = Classifier::train_part(&without, data.rows(), data.labels(), learned);
  expect_near(again.raw_log_probabilities(data.rows()), without.raw_log_probabilities(data.rows()));
}

// As in training at once.
TEST(TrainingInParts, AnOptionOfAnObjectiveChoosesPenalty) {
  const PartRows data = part_rows(300, 13);
  EXPECT_EQ(
      Classifier::train_part(nullptr, data.rows(), data.labels(), {{"alpha", 5}})
          .raw_log_probabilities(data.rows()),
      Classifier::train_part(nullptr, data.rows(), data.labels(), {{"objective", "penalty"}, {"alpha", 5}})
          .raw_log_probabilities(data.rows()));
}

TEST(TrainingInParts, WhatNeedsAllRowsIsRefused) {
  const PartRows data = part_rows(60, 9);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"objective", "nce"},
                                                        {"objective", "constraint"},
                                                        {"objective", "hierarchical"},
                                                        {"optimiser", "lbfgs"},
                                                        {"encoder", "bag"},
                                                        {"arithmetic", "double"}})
    EXPECT_THROW(Classifier::train_part(nullptr, data.rows(), data.labels(), {{name, value}}), Error)
        << value;
  const std::vector<std::string_view> texts(60, "a b");
  EXPECT_THROW(Classifier::train_part(nullptr, Texts(texts), data.labels()), Error);
  const Classifier model = Classifier::train_part(nullptr, data.rows(), data.labels());
  EXPECT_THROW(
      Classifier::train_part(&model, Rows(data.x, 3), Labels({"a", "b", "c"}, std::vector<uint32_t>(40))),
      Error);
  EXPECT_THROW(Classifier::train_part(&model, data.rows(), Labels({"a", "b", "d"}, data.y)), Error);
  EXPECT_THROW(
      Classifier::train_part(&model, data.rows(), Labels({"a", "b", "c"}, std::vector<uint32_t>(60, 3))),
      Error);
}

}  // namespace
}  // namespace selfnorm
