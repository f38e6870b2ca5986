#include "audit/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/audit.h"
#include "model/huffman.h"
#include "objective/hierarchical.h"
#include "random_data.h"
#include "random_head.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Describe, MomentsAndQuantilesOfAKnownSample) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const LogZStatistics s = describe(values);
  EXPECT_DOUBLE_EQ(s.mean, 50);
  EXPECT_NEAR(s.std, std::sqrt(850.0), 1e-12);
  EXPECT_NEAR(s.rms, std::sqrt(3350.0), 1e-12);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 100);
  EXPECT_DOUBLE_EQ(s.q01, 1);
  EXPECT_DOUBLE_EQ(s.q50, 50);
  EXPECT_DOUBLE_EQ(s.q99, 99);
}

// One feature: scores (x, -x).
ModelFile two_classes() {
  ModelFile model;
  model.classes = 2;
  model.features = 1;
  model.weight = {1, -1};
  model.bias = {0, 0};
  model.labels = {"a", "b"};
  return model;
}

// By hand, with a constant c.
TEST(Evaluate, AgreesWithAHandComputation) {
  ModelFile model = two_classes();
  model.log_normalizer = 0.25;
  Dataset data;
  data.labels = model.labels;
  data.features.is_sparse = false;
  data.features.dense = {2, 1, {2.0f, 0.5f}};
  data.target = {0, 1};
  const Evaluation e = evaluate(model, data);
  const double a0 = std::log(std::exp(2.0) + std::exp(-2.0)), a1 = std::log(std::exp(0.5) + std::exp(-0.5));
  EXPECT_EQ(e.n, 2u);
  EXPECT_EQ(e.classes, 2u);
  EXPECT_NEAR(e.nll_exact, 0.5 * ((a0 - 2) + (a1 + 0.5)), 1e-6);
  EXPECT_NEAR(e.nll_raw, 0.5 * ((0.25 - 2) + (0.25 + 0.5)), 1e-6);
  EXPECT_EQ(e.accuracy, 0.5);
  EXPECT_EQ(e.top5, 1);
  EXPECT_NEAR(e.log_z.mean, 0.5 * (a0 + a1) - 0.25, 1e-6);
  const auto kl = [](double a, double s) {
    const double p = std::exp(s - a), q = std::exp(-s - a);
    return p * std::log(2 * p) + q * std::log(2 * q);
  };
  EXPECT_NEAR(e.kl_uniform, 0.5 * (kl(a0, 2) + kl(a1, 0.5)), 1e-6);
}

// The same scores with b(x) = 0.5 x + 0.1 + 2 max(0, x - 1).
TEST(Evaluate, AmortisedByHand) {
  ModelFile model;
  model.classes = 2;
  model.features = 1;
  model.weight = {1, -1};
  model.bias = {0, 0};
  model.log_normalizer = 0.25;
  Dataset data;
  data.labels = {"a", "b"};
  data.features.is_sparse = false;
  data.features.dense = {2, 1, {2.0f, 0.5f}};
  data.target = {0, 1};
  EXPECT_FALSE(evaluate(model, data).amortised);
  model.normalizer = {
      .intercept = 0.1, .slope = {0.5f}, .hidden_weight = {1}, .hidden_bias = {-1}, .output = {2}};
  const Evaluation e = evaluate(model, data);
  const double a0 = std::log(std::exp(2.0) + std::exp(-2.0)), a1 = std::log(std::exp(0.5) + std::exp(-0.5));
  const double b0 = 1.1 + 2, b1 = 0.35;
  ASSERT_TRUE(e.amortised);
  EXPECT_NEAR(e.amortised->nll, 0.5 * ((0.25 + b0 - 2) + (0.25 + b1 + 0.5)), 1e-6);
  const double e0 = a0 - 0.25 - b0, e1 = a1 - 0.25 - b1;
  EXPECT_NEAR(e.amortised->log_z.rms, std::sqrt(0.5 * (e0 * e0 + e1 * e1)), 1e-6);
  EXPECT_NEAR(e.log_z.mean, 0.5 * (a0 + a1) - 0.25, 1e-6);
}

// The same numbers as without the rows whose label is unseen, but for accuracy; log Z is of all.
TEST(Evaluate, UnseenLabelsAreWrongAndHaveNoLikelihood) {
  ModelFile model = two_classes();
  model.normalizer.intercept = 0.1;
  model.normalizer.slope = {0.3f};
  Dataset seen;
  seen.labels = model.labels;
  seen.features.is_sparse = false;
  seen.features.dense = {2, 1, {2.0f, 0.5f}};
  seen.target = {0, 0};
  Dataset all = seen;
  all.features.dense = {4, 1, {2.0f, 7.0f, 0.5f, -7.0f}};
  all.target = {0, Dataset::kUnseenTarget, 0, Dataset::kUnseenTarget};
  const Evaluation one = evaluate(model, seen), two = evaluate(model, all);
  EXPECT_EQ(one.unseen, 0u);
  EXPECT_EQ(two.unseen, 2u);
  EXPECT_NEAR(one.nll_exact, two.nll_exact, 1e-12);
  EXPECT_NEAR(one.nll_raw, two.nll_raw, 1e-12);
  EXPECT_NEAR(one.amortised->nll, two.amortised->nll, 1e-12);
  EXPECT_EQ(one.accuracy, 1);
  EXPECT_EQ(two.accuracy, 0.5);
  EXPECT_EQ(two.top5, 0.5);
  EXPECT_GT(two.log_z.max, one.log_z.max);
  all.target.assign(4, Dataset::kUnseenTarget);
  const Evaluation none = evaluate(model, all);
  EXPECT_EQ(none.accuracy, 0);
  EXPECT_TRUE(std::isnan(none.nll_exact));
}

TEST(Evaluate, UniformModelHasKnownNumbersAndTiesCountAgainstLaterClasses) {
  ModelFile model;
  model.classes = 10;
  model.features = 3;
  model.weight.assign(30, 0);
  model.bias.assign(10, static_cast<float>(-std::log(10.0)));
  const Dataset data = random_dataset({.rows = 100, .features = 3, .classes = 10}, 1);
  const Evaluation e = evaluate(model, data);
  EXPECT_NEAR(e.nll_exact, std::log(10.0), 1e-6);
  EXPECT_NEAR(e.nll_raw, std::log(10.0), 1e-6);
  EXPECT_NEAR(e.kl_uniform, 0, 1e-6);
  EXPECT_NEAR(e.log_z.rms, 0, 1e-6);
  EXPECT_LT(e.accuracy, 0.3);
  EXPECT_LT(e.top5, 0.8);
}

// Two classes share the best score, whatever its size, and a third is behind: p = 1/2.
TEST(Evaluate, LargeScoresLeaveProbabilities) {
  ModelFile model;
  model.classes = 3;
  model.features = 1;
  model.weight = {1, 1, -1};
  model.bias = {0, 0, 0};
  model.labels = {"a", "b", "c"};
  for (const float size : {1e4f, 1e9f, 1e20f, 1e30f}) {
    Dataset data;
    data.labels = model.labels;
    data.features.is_sparse = false;
    data.features.dense = {2, 1, {size, 2 * size}};
    data.target = {0, 1};
    const Evaluation e = evaluate(model, data);
    EXPECT_NEAR(e.nll_exact, std::log(2.0), 1e-6) << size;
    EXPECT_NEAR(e.kl_uniform, std::log(1.5), 1e-6) << size;
    const Audit a = audit(model, *make_example_source(data), {.with_v_star = false});
    EXPECT_NEAR(a.labelled->nll_exact, std::log(2.0), 1e-6) << size;
    EXPECT_NEAR(a.kl_uniform, std::log(1.5), 1e-6) << size;
    EXPECT_NEAR(a.worst_inputs[0].best_exact, -std::log(2.0), 1e-6) << size;
  }
}

TEST(Evaluate, InfinityIsAnErrorWithItsRow) {
  ModelFile model;
  model.classes = 2;
  model.features = 1;
  model.weight = {1e30f, -1e30f};
  model.bias = {0, 0};
  Dataset data;
  data.labels = {"a", "b"};
  data.features.is_sparse = false;
  data.features.dense = {2, 1, {0.0f, 1e20f}};
  data.target = {0, 0};
  try {
    evaluate(model, data);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("row 1"), std::string::npos) << e.what();
  }
}

TEST(Evaluate, RefusesDataOfTheOtherFamilyAndMissingLabels) {
  ModelFile model;
  model.classes = 2;
  model.features = 4;
  model.weight.assign(8, 0);
  model.bias.assign(2, 0);
  EXPECT_THROW(evaluate(model, random_groups(3, 4, 1)), Error);
  Dataset data = random_dataset({.rows = 3, .features = 4, .classes = 2}, 1);
  data.target.own()[1] = Dataset::kNoTarget;
  EXPECT_THROW(evaluate(model, data), Error);
}

// A model of sparse rows by way of an encoder is its output layer on the states.
TEST(Evaluate, AnEncoderGivesTheStates) {
  const Dataset data = random_dataset({.rows = 40, .features = 6, .classes = 4, .sparse = true}, 2);
  ModelFile model = random_head(4, 3, 5);
  Dataset states = data;
  Encoder encoder;
  encoder.kind = EncoderKind::Bag;
  encoder.inputs = 6;
  encoder.width = 3;
  encoder.embedding = random_vector<float>(18, 7, 1);
  states.features = encode(encoder, data.features);
  const Evaluation expected = evaluate(model, states);
  model.encoder = encoder;
  const Evaluation found = evaluate(model, data);
  EXPECT_EQ(found.nll_exact, expected.nll_exact);
  EXPECT_EQ(found.log_z.rms, expected.log_z.rms);
  EXPECT_EQ(found.accuracy, expected.accuracy);
}

TEST(Evaluate, HierarchicalByEnumeration) {
  const Dataset data = random_dataset({.rows = 40, .features = 3, .classes = 7}, 3);
  ModelFile model = random_head(7, 3, 5);
  model.family = Family::Hierarchical;
  model.tree = huffman_tree(std::vector<uint64_t>{9, 1, 4, 2, 2, 7, 3});
  model.weight.resize(6 * 3);
  model.bias.resize(6);
  double nll = 0, right = 0, five = 0, kl = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    std::vector<double> p(7);
    for (uint32_t k = 0; k < 7; ++k) {
      p[k] = std::exp(-path_nll(model, data.features.dense.row(i), k));
      kl += p[k] * std::log(7 * p[k]) / 40;
    }
    const double target = p[data.target[i]];
    const auto better = std::count_if(p.begin(), p.end(), [&](double q) { return q > target; });
    nll -= std::log(target) / 40;
    right += better == 0 ? 1.0 / 40 : 0;
    five += better < 5 ? 1.0 / 40 : 0;
  }
  const Evaluation found = evaluate(model, data);
  EXPECT_NEAR(found.nll_exact, nll, 1e-9);
  EXPECT_EQ(found.nll_raw, found.nll_exact);
  EXPECT_NEAR(found.accuracy, right, 1e-9);
  EXPECT_NEAR(found.top5, five, 1e-9);
  EXPECT_NEAR(found.kl_uniform, kl, 1e-9);
  EXPECT_EQ(found.classes, 7u);
  EXPECT_EQ(found.log_z.rms, 0);
}

}  // namespace
}  // namespace selfnorm
