#include "selfnorm/train/network_validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "random_data.h"
#include "selfnorm/model/huffman.h"
#include "selfnorm/train/network_start.h"

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
  NetworkPlan plan;
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

ModelFile worse(ModelFile model) {
  for (float& w : model.weight) w *= 3;
  return model;
}

TEST(NetworkValidation, KeepsTheBestAndStopsWhenPatienceRunsOut) {
  const Dataset data = some_data();
  const BagFeed feed(data);
  NetworkValidation validation(&feed, patient_options("exact", 2));
  const ModelFile good = random_network("exact"), bad = worse(good);
  Progress progress;
  ModelFile spare;
  EXPECT_FALSE(validation.check(bad, spare, progress));
  const double first = *progress.valid_nll;
  EXPECT_FALSE(validation.check(good, spare, progress));
  EXPECT_LT(*progress.valid_nll, first);
  EXPECT_FALSE(validation.check(bad, spare, progress));
  ModelFile model = bad;
  validation.conclude(model, true);
  EXPECT_TRUE(model == good);

  Checkpoint checkpoint;
  validation.save(checkpoint);
  NetworkValidation again(&feed, patient_options("exact", 2));
  again.restore(checkpoint, bad);
  EXPECT_TRUE(again.check(bad, spare, progress));
  model = bad;
  again.conclude(model, true);
  EXPECT_TRUE(model == good);
}

TEST(NetworkValidation, CalibratesWhatHasALevel) {
  const Dataset data = some_data();
  const BagFeed feed(data);
  const ModelFile start = random_network("exact");
  for (const uint64_t patience : {0, 1}) {
    for (const std::string name : {"penalty", "snl", "nce", "is", "ranking-nce", "sampled", "exact"}) {
      NetworkValidation validation(&feed, patient_options(name, patience));
      EXPECT_EQ(validation.calibrates(), name != "exact");
      Progress progress;
      ModelFile spare;
      validation.check(start, spare, progress);
      ModelFile model = start;
      validation.conclude(model, true);
      const NetworkQuality q = network_quality(start, examples_of(data));
      EXPECT_NEAR(model.log_normalizer, name == "exact" ? 0 : q.log_z, 1e-12);
      const double about = q.log_z_square - model.log_normalizer * (2 * q.log_z - model.log_normalizer);
      EXPECT_NEAR(*progress.valid_log_z_rms, std::sqrt(about), 1e-6);
    }
  }
  TrainOptions options = patient_options("penalty", 1);
  options.objective.centre = 2;
  EXPECT_FALSE(NetworkValidation(&feed, options).calibrates());
  options = patient_options("snl", 1);
  options.calibrate = false;
  EXPECT_FALSE(NetworkValidation(&feed, options).calibrates());
}

TEST(NetworkValidation, ParametersSurviveACheckpoint) {
  ModelFile model = random_network("snl");
  model.encoder.hidden_weight = random_vector<float>(6, 5);
  model.encoder.hidden_bias = random_vector<float>(2, 6);
  model.log_normalizer = 0.1;
  model.normalizer = {.intercept = 0.2,
                      .slope = random_vector<float>(2, 7),
                      .hidden_weight = random_vector<float>(4, 8),
                      .hidden_bias = random_vector<float>(2, 9),
                      .output = random_vector<float>(2, 10)};
  Checkpoint checkpoint;
  save_parameters("p.", model, checkpoint);
  ModelFile back = random_network("snl");
  for (float& v : back.weight) v = 0;
  for (float& v : back.bias) v = 0;
  for (float& v : back.encoder.embedding) v = 0;
  restore_parameters("p.", checkpoint, back);
  EXPECT_TRUE(back == model);
}

// A run that was interrupted before the first check has a b of its own; one whose scores have become infinite
// must not replace it by something that is no number.
TEST(NetworkValidation, LeavesTheLevelWhereItHasMeasuredNone) {
  const Dataset data = some_data();
  const BagFeed feed(data);
  NetworkValidation validation(&feed, patient_options("snl", 3));
  ModelFile model = random_network("snl");
  model.log_normalizer = 0.75;
  validation.conclude(model, true);
  EXPECT_EQ(model.log_normalizer, 0.75);
  ModelFile broken = model;
  broken.weight[0] = std::numeric_limits<float>::infinity();
  Progress progress;
  ModelFile spare;
  EXPECT_FALSE(validation.check(broken, spare, progress));
  EXPECT_FALSE(validation.has_kept());
  Checkpoint checkpoint;
  validation.save(checkpoint);
  NetworkValidation again(&feed, patient_options("snl", 3));
  again.restore(checkpoint, model);
  again.conclude(model, true);
  EXPECT_EQ(model.log_normalizer, 0.75);
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

TEST(NetworkValidation, LooksAtASample) {
  CountingFeed feed;
  feed.size = 50;
  EXPECT_TRUE(NetworkValidation(&feed, patient_options("exact", 1)).present());
  EXPECT_EQ(feed.asked.size(), 50u);
  feed.size = kValidationExamples * 3;
  NetworkValidation(&feed, patient_options("exact", 1));
  EXPECT_EQ(feed.asked.size(), kValidationExamples);
  EXPECT_TRUE(std::adjacent_find(feed.asked.begin(), feed.asked.end(), std::greater_equal<>()) ==
              feed.asked.end());
  EXPECT_GT(feed.asked.back(), kValidationExamples * 2);
  feed.size = 0;
  EXPECT_FALSE(NetworkValidation(&feed, patient_options("exact", 1)).present());
  EXPECT_FALSE(NetworkValidation(nullptr, patient_options("snl", 1)).calibrates());
}

// The start is the frequencies, so it is not worse than they are; scores that favour what is rare are.
TEST(NetworkValidation, KnowsWhenTheFrequenciesAreBetter) {
  const Dataset data = some_data();
  const BagFeed feed(data);
  TrainOptions options;
  options.objective.name = "exact";
  options.encoder.dimension = kValidationWidth;
  NetworkPlan plan;
  plan.inputs = kValidationInputs;
  plan.classes = kValidationClasses;
  const std::vector<uint64_t> counts = feed.class_counts();
  Progress progress;
  ModelFile spare, model = starting_network(plan, options, counts);
  NetworkValidation start(&feed, options), worse(&feed, options);
  EXPECT_FALSE(start.is_worse_than_frequencies(counts));
  for (uint32_t k = 0; k < kValidationClasses;
       ++k)  // the maximum likelihood, which the added 1 keeps the start from
    model.bias[k] = static_cast<float>(std::log(static_cast<double>(counts[k])));
  start.check(model, spare, progress);
  EXPECT_FALSE(start.is_worse_than_frequencies(counts));
  for (float& c : model.bias) c = -c;
  worse.check(model, spare, progress);
  EXPECT_TRUE(worse.is_worse_than_frequencies(counts));
}

}  // namespace
}  // namespace selfnorm
