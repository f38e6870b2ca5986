
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "family/classifier/network/network_trainer.h"
#include "model/huffman.h"
#include "random_data.h"

namespace selfnorm {
namespace {

constexpr uint32_t kValidationInputs = 6, kValidationClasses = 7, kValidationWidth = 3;

Dataset some_data() {
  return random_dataset(
      {.rows = 100, .features = kValidationInputs, .classes = kValidationClasses, .sparse = true}, 1);
}

ModelFile random_network(const std::string& objective) {
  TrainOptions options;
  options.objective.name = objective;
  options.encoder.dimension = kValidationWidth;
  EncoderPlan plan;
  plan.inputs = kValidationInputs;
  plan.classes = kValidationClasses;
  ModelFile model = starting_network(plan, options, std::vector<uint64_t>{5, 1, 0, 3, 8, 2, 2});
  model.weight = random_vector<float>(model.weight.size(), 2);
  model.encoder.embedding = random_vector<float>(model.encoder.embedding.size(), 3);
  return model;
}

double score(const ModelFile& model, size_t row, std::span<const float> h) {
  double s = double{model.bias[row]} + (model.log_carrier.empty() ? 0 : double{model.log_carrier[row]});
  for (size_t j = 0; j < h.size(); ++j) s += double{model.weight[row * h.size() + j]} * double{h[j]};
  return s;
}

// log p(k|h) up to log Z for a softmax, exactly for a tree.
std::vector<double> log_scores(const ModelFile& model, std::span<const float> h) {
  std::vector<double> out;
  for (uint32_t k = 0; k < kValidationClasses; ++k) {
    if (model.tree.empty()) {
      out.push_back(score(model, k, h));
      continue;
    }
    out.push_back(0);
    for_each_ancestor(model.tree, k, [&](uint32_t row, uint32_t side) {
      out.back() -= std::log1p(std::exp(side == 1 ? -score(model, row, h) : score(model, row, h)));
    });
  }
  return out;
}

ExampleBatch examples_of(const Dataset& data) {
  ExampleBatch out;
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < data.examples(); ++i) all.push_back(i);
  BagFeed(data).gather(all, out);
  return out;
}

void expect_quality(const ModelFile& model, const ExampleBatch& examples) {
  const Features h = encode(model.encoder, examples.rows);
  double weight = 0, nll = 0, log_z = 0, square = 0;
  for (size_t i = 0; i < examples.target.size(); ++i) {
    const auto state = h.dense.row(i);
    double z = 0, b = model.normalizer.intercept;
    const std::vector<double> scores = log_scores(model, state);
    for (const double s : scores) z += std::exp(s);
    for (size_t j = 0; model.normalizer.exists() && j < state.size(); ++j)
      b += double{model.normalizer.slope[j]} * double{state[j]};
    const double w = examples.weight.empty() ? 1 : double{examples.weight[i]};
    weight += w;
    nll += w * (std::log(z) - scores[examples.target[i]]);
    log_z += w * (std::log(z) - b);
    square += w * std::pow(std::log(z) - b, 2);
  }
  const NetworkQuality quality = network_quality(model, examples);
  EXPECT_NEAR(quality.nll, nll / weight, 1e-5);
  EXPECT_NEAR(quality.log_z, log_z / weight, 1e-5);
  EXPECT_NEAR(quality.log_z_square, square / weight, 1e-5);
}

TEST(NetworkQuality, IsThatOfEnumeration) {
  ExampleBatch examples = examples_of(some_data());
  ModelFile model = random_network("exact");
  expect_quality(model, examples);
  expect_quality(random_network("hierarchical"), examples);
  for (size_t i = 0; i < examples.target.size(); ++i) examples.weight.push_back(i % 3 == 0 ? 0 : 0.5f);
  model.log_carrier = random_vector<float>(kValidationClasses, 4);
  model.normalizer.intercept = 0.3;
  model.normalizer.slope = {0.5f, -1, 0.25f};
  expect_quality(model, examples);
  expect_quality(random_network("hierarchical"), examples);
}

TrainOptions patient_options(const std::string& objective, uint64_t patience) {
  TrainOptions options;
  options.objective.name = objective;
  options.patience = patience;
  return options;
}

// To calibrate: the constant is the level that was measured, until the parameters move.
TEST(Validation, CalibratesWhatHasALevel) {
  const NetworkQuality q = network_quality(random_network("exact"), examples_of(some_data()));
  for (const double c : {0.0, 0.75}) {
    for (const std::string name :
         {"penalty", "snl", "nce", "is", "ranking-nce", "sampled", "exact", "hierarchical", "constraint"}) {
      const bool has_level = name != "exact" && name != "hierarchical" && name != "constraint";
      Validation validation(patient_options(name, 1), true);
      EXPECT_EQ(validation.calibrates(), has_level) << name;
      EXPECT_FALSE(validation.level());
      Progress progress;
      const Check found = validation.judge(q.about(c), progress);
      const double constant = has_level ? q.log_z : c;
      const double about = q.log_z_square - constant * (2 * q.log_z - constant);
      EXPECT_EQ(validation.level().has_value(), has_level);
      EXPECT_NEAR(validation.level().value_or(c), constant, 1e-12);
      EXPECT_EQ(*progress.valid_nll, q.nll);
      EXPECT_NEAR(*progress.valid_log_z_rms, std::sqrt(about), 1e-6);
      const double alpha = name == "penalty" ? patient_options(name, 1).objective.alpha : 0;
      EXPECT_NEAR(*found.criterion, q.nll + alpha * about, 1e-9);
      validation.forget_level();
      EXPECT_FALSE(validation.level());
    }
  }
  TrainOptions options = patient_options("penalty", 1);
  options.objective.centre = 2;
  EXPECT_FALSE(Validation(options, true).calibrates());
  options = patient_options("snl", 1);
  options.calibrate = false;
  EXPECT_FALSE(Validation(options, true).calibrates());
  EXPECT_FALSE(Validation(patient_options("snl", 1), false).calibrates());
}

TEST(Validation, TheBestIsKeptWhereThereIsPatienceAndNoConstraint) {
  const auto plan_of = [](const std::string& objective, uint64_t patience, bool has_data) {
    Plan plan;
    Validation(patient_options(objective, patience), has_data).plan(plan);
    return plan;
  };
  EXPECT_TRUE(plan_of("snl", 3, true).keeps_best);
  EXPECT_EQ(plan_of("snl", 3, true).patience, 3u);
  EXPECT_FALSE(plan_of("snl", 0, true).keeps_best);
  EXPECT_TRUE(plan_of("snl", 0, true).checks);
  EXPECT_FALSE(plan_of("snl", 3, false).checks || plan_of("snl", 3, false).keeps_best);
  EXPECT_TRUE(plan_of("constraint", 3, true).checks);
  EXPECT_FALSE(plan_of("constraint", 3, true).keeps_best);
  EXPECT_EQ(plan_of("constraint", 3, true).patience, 0u);
}

// A model whose scores have become infinite must not replace b by something that is no number.
TEST(Validation, LeavesTheLevelWhereItHasMeasuredNone) {
  ModelFile broken = random_network("snl");
  broken.weight[0] = std::numeric_limits<float>::infinity();
  Validation validation(patient_options("snl", 3), true);
  Progress progress;
  const Check found =
      validation.judge(network_quality(broken, examples_of(some_data())).about(0.75), progress);
  EXPECT_FALSE(std::isfinite(*found.criterion));
  EXPECT_FALSE(validation.level());
  Checkpoint checkpoint;
  CheckpointFields written(checkpoint);
  validation.state(written);
  Validation again(patient_options("snl", 3), true);
  CheckpointFields read(std::as_const(checkpoint));
  again.state(read);
  EXPECT_FALSE(again.level());
}

TEST(Validation, TheLevelSurvivesCopiesAndCheckpoints) {
  Validation validation(patient_options("snl", 3), true), copy(patient_options("snl", 3), true),
      restored(patient_options("snl", 3), true);
  Progress progress;
  validation.judge({.nll = 1, .level = 0.3, .square = 2, .calibrated_square = 1}, progress);
  Snapshot snapshot;
  validation.take(snapshot);
  copy.put(snapshot);
  EXPECT_EQ(copy.level(), 0.3);
  Checkpoint checkpoint;
  CheckpointFields written(checkpoint);
  validation.state(written);
  CheckpointFields read(std::as_const(checkpoint));
  restored.state(read);
  EXPECT_EQ(restored.level(), 0.3);
}

// Numbers its examples and remembers which were asked for.
struct CountingFeed : ExampleFeed {
  uint64_t size = 0;
  mutable std::vector<uint64_t> asked;

  uint64_t examples() const override { return size; }
  std::vector<uint64_t> class_counts() const override { return {size, 0}; }
  void gather(std::span<const uint64_t> examples, ExampleBatch& out) const override {
    asked.assign(examples.begin(), examples.end());
    for (size_t i = 0; i < examples.size(); ++i) out.rows.begin.push_back(0);
    out.target.assign(examples.size(), 0);
  }
  std::string fingerprint() const override { return ""; }
};

TEST(ValidationExamples, AreASample) {
  CountingFeed feed;
  feed.size = 50;
  constexpr uint64_t kRows = 100;
  EXPECT_EQ(validation_examples(&feed, 1, kRows).target.size(), 50u);
  EXPECT_EQ(feed.asked.size(), 50u);
  feed.size = kRows * 3;
  validation_examples(&feed, 1, kRows);
  EXPECT_EQ(feed.asked.size(), kRows);
  EXPECT_TRUE(std::adjacent_find(feed.asked.begin(), feed.asked.end(), std::greater_equal<>()) ==
              feed.asked.end());
  EXPECT_GT(feed.asked.back(), kRows * 2);
  feed.size = 0;
  EXPECT_EQ(validation_examples(&feed, 1, kRows).rows.rows(), 0u);
  EXPECT_EQ(validation_examples(nullptr, 1, kRows).rows.rows(), 0u);
}

// However dear a row, checks stay below their share of the steps between them, and no check has fewer rows
// than it needs.
TEST(ValidationEffort, IsAFifthOfTraining) {
  const double epoch = 1e9;
  uint64_t before = ValidationEffort::kMostRows;
  for (const double row : {1.0, 1e4, 4.1e4, 1e5, 1e6, 1e7, 1e9}) {
    const ValidationEffort effort = validation_effort(epoch, row);
    EXPECT_LE(effort.rows, before);
    EXPECT_GE(effort.rows, ValidationEffort::kFewestRows);
    EXPECT_LE(static_cast<double>(effort.rows) * row, 0.2 * 4 * epoch * static_cast<double>(effort.epochs))
        << row;
    EXPECT_TRUE(effort.epochs == 1 || effort.rows == ValidationEffort::kFewestRows);
    before = effort.rows;
  }
  EXPECT_EQ(validation_effort(epoch, 1).rows, ValidationEffort::kMostRows);
  EXPECT_EQ(validation_effort(epoch, 1e7).epochs, 7u);
  const TrainOptions options = patient_options("snl", 3);
  const Plan plan = Validation(options, true).plan_of_epochs(options, 10, 7);
  EXPECT_EQ(plan.check_every, 70u);
  EXPECT_EQ(plan.unit, "checks");
}

// The start is the frequencies, so it is as good as they are; the maximum likelihood is better, and scores
// that favour what is rare are worse.
TEST(FrequencyNll, IsThatOfTheStart) {
  const Dataset data = some_data();
  const BagFeed feed(data);
  TrainOptions options;
  options.objective.name = "exact";
  options.encoder.dimension = kValidationWidth;
  EncoderPlan plan;
  plan.inputs = kValidationInputs;
  plan.classes = kValidationClasses;
  const std::vector<uint64_t> counts = feed.class_counts();
  const ExampleBatch examples = examples_of(data);
  ModelFile model = starting_network(plan, options, counts);
  const double frequencies = frequency_nll(examples, counts);
  EXPECT_NEAR(network_quality(model, examples).nll, frequencies, 1e-5);
  for (uint32_t k = 0; k < kValidationClasses; ++k)
    model.bias[k] = static_cast<float>(std::log(static_cast<double>(counts[k])));
  EXPECT_LT(network_quality(model, examples).nll, frequencies);
  for (float& c : model.bias) c = -c;
  EXPECT_GT(network_quality(model, examples).nll, frequencies);
}

}  // namespace
}  // namespace selfnorm
