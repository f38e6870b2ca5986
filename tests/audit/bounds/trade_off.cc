#include "audit/bounds/trade_off.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "random_data.h"

namespace selfnorm {
namespace {

constexpr RandomShape kShape{.rows = 300, .features = 4, .classes = 5};

ModelFile random_model(double size, uint64_t seed, const RandomShape& shape = kShape) {
  ModelFile model;
  model.classes = shape.classes;
  model.features = shape.features;
  RandomStream random(seed);
  for (uint32_t i = 0; i < shape.classes * shape.features; ++i)
    model.weight.push_back(static_cast<float>(size * random.normal()));
  for (uint32_t k = 0; k < shape.classes; ++k)
    model.bias.push_back(static_cast<float>(size * random.normal()));
  return model;
}

std::vector<double> scores_of(const ModelFile& model, const Dataset& data, uint64_t i) {
  std::vector<double> out(model.bias.begin(), model.bias.end());
  const auto x = data.features.dense.row(i);
  for (uint32_t k = 0; k < model.classes; ++k)
    for (uint32_t j = 0; j < model.features; ++j)
      out[k] += double{model.weight[k * model.features + j]} * double{x[j]};
  return out;
}

struct Direct {
  double nll = 0, square = 0;
};

double log_sum(const std::vector<double>& s) {
  double z = 0;
  for (const double v : s) z += std::exp(v);
  return std::log(z);
}

// Of t times the scores less their mean over the classes.
Direct direct(const ModelFile& model, const Dataset& data, double t) {
  Direct out;
  const double n = static_cast<double>(data.examples());
  for (uint64_t i = 0; i < data.examples(); ++i) {
    std::vector<double> s = scores_of(model, data, i);
    double mean = 0;
    for (const double v : s) mean += v / model.classes;
    for (double& v : s) v = t * (v - mean);
    out.nll += (log_sum(s) - s[data.target[i]]) / n;
    out.square += std::pow(log_sum(s) - std::log(model.classes), 2) / n;
  }
  return out;
}

TEST(TradeOff, PathOfTheSmallestParametersAndTheModelAsItIs) {
  const Dataset data = random_dataset(kShape, 1);
  ModelFile model = random_model(1, 2);
  model.log_normalizer = 3;
  const TradeOffResult result = trade_off(model, data);
  ASSERT_TRUE(result.curve) << result.reason;
  const TradeOff& found = *result.curve;
  double square = 0;
  for (uint64_t i = 0; i < data.examples(); ++i)
    square += std::pow(log_sum(scores_of(model, data, i)) - 3, 2) / static_cast<double>(data.examples());
  EXPECT_NEAR(found.rms, std::sqrt(square), 1e-9);
  EXPECT_EQ(found.examples, data.examples());
  const double nll = direct(model, data, 1).nll;
  EXPECT_NEAR(found.uniform, std::log(model.classes) - nll, 1e-9);
  ASSERT_GT(found.path.size(), 10u);
  EXPECT_EQ(found.path.back().scale, 1);
  EXPECT_EQ(found.path.back().loss, 0);
  for (size_t j = 0; j < found.path.size(); ++j) {
    const ScaledModel& p = found.path[j];
    const Direct expected = direct(model, data, p.scale);
    EXPECT_NEAR(p.loss, expected.nll - nll, 1e-9);
    EXPECT_NEAR(p.rms, std::sqrt(expected.square), 1e-9);
    EXPECT_GT(p.rms, j > 0 ? found.path[j - 1].rms : 0);
    EXPECT_LE(p.loss, (1 - p.scale) * found.uniform + 1e-12);  // concavity
  }
}

// What is added to all classes changes the model as it is and nothing else.
TEST(TradeOff, EquivalentParametersHaveOneCurve) {
  const Dataset data = random_dataset(kShape, 1);
  ModelFile model = random_model(1, 2);
  const TradeOff one = trade_off(model, data).curve.value();
  for (uint32_t k = 0; k < model.classes; ++k) {
    model.bias[k] += 2;
    model.weight[k * model.features] += 1;
  }
  const TradeOff two = trade_off(model, data).curve.value();
  EXPECT_GT(two.rms, one.rms);
  ASSERT_EQ(one.path.size(), two.path.size());
  for (size_t j = 0; j < one.path.size(); ++j) {
    EXPECT_NEAR(one.path[j].rms, two.path[j].rms, 1e-5);
    EXPECT_NEAR(one.path[j].loss, two.path[j].loss, 1e-5);
  }
  for (size_t j = 0; j < one.bounds.size(); ++j)
    EXPECT_NEAR(one.bounds[j].concavity, two.bounds[j].concavity, 1e-5);
}

TEST(TradeOff, ClassesThatDoNotExist) {
  Dataset data = random_dataset({.rows = 100, .features = 4, .classes = 3}, 1);
  ModelFile model = random_model(1, 2);
  data.labels = ClassNames::numbers(5);
  const float none = -std::numeric_limits<float>::infinity();
  model.log_carrier = {0, 0, 0, none, none};
  const TradeOffResult found = trade_off(model, data);
  ASSERT_TRUE(found.curve) << found.reason;
  double square = 0;
  for (uint64_t i = 0; i < data.examples(); ++i) {
    std::vector<double> s = scores_of(model, data, i);
    s.resize(3);
    square += std::pow(log_sum(s), 2) / static_cast<double>(data.examples());
  }
  EXPECT_NEAR(found.curve->rms, std::sqrt(square), 1e-9);
}

// alpha eta is feasible and concavity bounds what it loses; both bounds are above what is lost there.
TEST(TradeOff, BoundsHoldForAnyParametersAndData) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Dataset data = random_dataset(kShape, seed);  // labels that the model knows nothing of
    const ModelFile model = random_model(seed % 2 == 0 ? 0.1 : 3, 100 + seed);
    const TradeOffResult found = trade_off(model, data);
    ASSERT_TRUE(found.curve) << found.reason;
    double square = 0, radius = 0;
    for (uint32_t j = 0; j <= model.features; ++j) {
      const auto of = [&](uint32_t k) {
        return double{j < model.features ? model.weight[k * model.features + j] : model.bias[k]};
      };
      double mean = 0;
      for (uint32_t k = 0; k < model.classes; ++k) mean += of(k) / model.classes;
      for (uint32_t k = 0; k < model.classes; ++k) square += std::pow(of(k) - mean, 2);
    }
    for (uint64_t i = 0; i < data.examples(); ++i) {
      double norm = 1;
      for (const float v : data.features.dense.row(i)) norm += double{v} * double{v};
      radius = std::max(radius, std::sqrt(norm));
    }
    const double nll = direct(model, data, 1).nll;
    ASSERT_EQ(found.curve->bounds.size(), 12u);
    EXPECT_NEAR(found.curve->bounds.front().delta, found.curve->path.front().rms, 1e-12);
    EXPECT_NEAR(found.curve->bounds.back().delta, found.curve->path.back().rms, 1e-12);
    for (const TheoryBound& b : found.curve->bounds) {
      const double alpha = std::min(1.0, b.delta / (radius * std::sqrt(square)));
      const Direct scaled = direct(model, data, alpha);
      EXPECT_LE(std::sqrt(scaled.square), b.delta + 1e-9);
      EXPECT_NEAR(b.concavity, (1 - alpha) * found.curve->uniform, 1e-6);
      EXPECT_LE(scaled.nll - nll, b.concavity + 1e-9);
      EXPECT_LE(scaled.nll - nll, b.proposition3 + 1e-9);
    }
  }
}

TEST(TradeOff, AtMost2000ExamplesForAnyNumberOfThreads) {
  const RandomShape shape{.rows = 5000, .features = 4, .classes = 5, .sparse = true};
  const Dataset data = random_dataset(shape, 3);
  const ModelFile model = random_model(1, 4);
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return trade_off(model, data).curve.value();
  };
  const TradeOff one = with(1), two = with(2);
  EXPECT_EQ(one.examples, 2000u);
  EXPECT_EQ(one.rms, two.rms);
  for (size_t j = 0; j < one.path.size(); ++j) EXPECT_EQ(one.path[j].loss, two.path[j].loss);
  for (size_t j = 0; j < one.bounds.size(); ++j)
    EXPECT_EQ(one.bounds[j].proposition3, two.bounds[j].proposition3);
}

TEST(TradeOff, GroupsOfOneSize) {
  Dataset data = random_groups(0, 3, 1);
  RandomStream random(5);
  for (uint64_t g = 0; g < 100; ++g) {
    for (int i = 0; i < 9; ++i) data.features.dense.values.push_back(static_cast<float>(random.normal()));
    data.features.dense.rows += 3;
    data.group_begin.push_back(data.features.dense.rows);
    data.target.push_back(static_cast<uint32_t>(random.below(3)));
  }
  ModelFile model;
  model.family = Family::Joint;
  model.features = 3;
  model.weight = {1, -2, 0.5f};
  model.log_normalizer = std::log(3.0);
  const TradeOffResult found = trade_off(model, data);
  ASSERT_TRUE(found.curve) << found.reason;
  EXPECT_NEAR(found.curve->rms, found.curve->path.back().rms, 1e-12);
  EXPECT_FALSE(trade_off(model, random_groups(20, 3, 1)).curve);
  EXPECT_NE(trade_off(model, random_groups(20, 3, 1)).reason.find("same size"), std::string::npos);
}

void expect_none(const ModelFile& model, const Dataset& data, const std::string& why) {
  const TradeOffResult found = trade_off(model, data);
  EXPECT_FALSE(found.curve);
  EXPECT_NE(found.reason.find(why), std::string::npos) << found.reason;
}

TEST(TradeOff, SaysWhyThereIsNone) {
  const Dataset data = random_dataset(kShape, 1);
  const ModelFile model = random_model(1, 2);
  ModelFile other = model;
  other.family = Family::Hierarchical;
  expect_none(other, data, "sum to 1");
  other = model;
  other.encoder.kind = EncoderKind::Bag;
  expect_none(other, data, "networks");
  expect_none(model, random_groups(5, 4, 1), "another kind");
  expect_none(model, subset(data, {}), "no examples");
  expect_none(random_model(1, 2, {.features = 4, .classes = 6}), data, "5 classes");
  expect_none(random_model(0, 2), data, "costs nothing");
  expect_none(random_model(1, 2, {.features = 3, .classes = 5}), data, "parameters");
  const RandomShape many{.rows = 300, .features = 1, .classes = 20'000};
  expect_none(random_model(1, 2, many), random_dataset(many, 1), "20000 classes");
  Dataset changed = data;
  changed.target.own()[3] = Dataset::kNoTarget;
  expect_none(model, changed, "label");
  changed = data;
  changed.weight.assign(data.examples(), 0);
  expect_none(model, changed, "weights");
  changed = data;
  changed.features.dense.values[0] = std::nanf("");
  expect_none(model, changed, "too large");
}

}  // namespace
}  // namespace selfnorm
