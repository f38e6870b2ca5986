#include "family/classifier/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/evaluation.h"
#include "data/toy/generate.h"
#include "family/classifier/network/classifier_rows.h"
#include "family/classifier/saturated.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

TrainResult train_alone(const Dataset& data, const TrainOptions& options) {
  TrainObserver observer;
  return train_classifier(data, std::nullopt, options, {}, observer);
}

// s(x, y) and A(x) of a trained model on one-hot inputs.
struct Table {
  std::vector<std::vector<double>> score;
  std::vector<double> log_z;

  explicit Table(const ModelFile& model) {
    for (uint32_t x = 0; x < model.features; ++x) {
      LogSumExp z;
      score.emplace_back();
      for (uint32_t y = 0; y < model.classes; ++y) {
        const double carrier = model.log_carrier.empty() ? 0 : static_cast<double>(model.log_carrier[y]);
        score[x].push_back(carrier + static_cast<double>(model.weight[y * model.features + x]) +
                           static_cast<double>(model.bias[y]));
        z.add(score[x][y]);
      }
      log_z.push_back(z.value());
    }
  }
};

void expect_frequencies(const Saturated& truth, const ModelFile& model, double tolerance) {
  const Table table(model);
  for (uint32_t x = 0; x < Saturated::kInputs; ++x) {
    for (uint32_t y = 0; y < Saturated::kClasses; ++y) {
      EXPECT_NEAR(std::exp(table.score[x][y] - table.log_z[x]), truth.frequency[x][y], tolerance)
          << x << " " << y;
    }
  }
}

TrainOptions tight(const std::string& objective) {
  TrainOptions options;
  options.objective.name = objective;
  options.l2 = 0;
  options.precision = "double";
  options.tolerance = 1e-9;
  options.iterations = 3000;
  return options;
}

TEST(Trainer, ExactFindsTheConditionalFrequencies) {
  const Saturated truth;
  const TrainResult result = train_alone(truth.data, tight("exact"));
  EXPECT_EQ(result.optimiser, "lbfgs");
  expect_frequencies(truth, result.model, 1e-4);
}

TEST(Trainer, PenaltyCostsNothingWhereTheModelIsSaturated) {
  const Saturated truth;
  const TrainResult result = train_alone(truth.data, tight("penalty"));
  expect_frequencies(truth, result.model, 1e-4);
  for (const double a : Table(result.model).log_z) EXPECT_NEAR(a, 0, 1e-3);
}

TEST(Trainer, LearnedCentreIsStoredAndSubtracted) {
  const Saturated truth;
  TrainOptions options = tight("penalty");
  options.objective.learn_centre = true;
  const TrainResult result = train_alone(truth.data, options);
  for (const double a : Table(result.model).log_z) EXPECT_NEAR(a, result.model.log_normalizer, 1e-3);
  EXPECT_NEAR(evaluate(result.model, truth.data).log_z.rms, 0, 1e-3);
}

// Over-fitted on few rows, log Z of new rows is off by a constant, which calibration takes away.
TEST(Trainer, CalibrationCentresLogZOnValidationData) {
  const Dataset data = random_dataset({.rows = 60, .features = 20, .classes = 3}, 9);
  const auto parts = hold_out(data, 0.5, 1);
  const Dataset &train_part = parts.first, &valid_part = parts.second;
  TrainObserver observer;
  for (const uint64_t patience : {0u, 5u}) {
    TrainOptions options = tight("penalty");
    options.l2 = 1e-2;
    options.patience = patience;
    const auto run = [&](bool calibrate) {
      options.calibrate = calibrate;
      return evaluate(train_classifier(train_part, valid_part, options, {}, observer).model, valid_part);
    };
    EXPECT_NEAR(run(true).log_z.mean, 0, 1e-5);
    EXPECT_NEAR(run(true).nll_raw, run(true).nll_exact, 1e-5);
    EXPECT_GT(std::abs(run(false).log_z.mean), 1e-3);
  }
}

TEST(Trainer, FixedCentreMovesLogZ) {
  const Saturated truth;
  TrainOptions options = tight("penalty");
  options.objective.centre = 1.5;
  const TrainResult result = train_alone(truth.data, options);
  EXPECT_EQ(result.model.log_normalizer, 1.5);
  for (const double a : Table(result.model).log_z) EXPECT_NEAR(a, 1.5, 1e-3);
}

TEST(Trainer, CarrierIsPartOfTheModel) {
  const Saturated truth;
  TrainOptions options = tight("penalty");
  options.log_carrier = {0.0f, 1.0f, -1.0f, 2.0f};
  const TrainResult result = train_alone(truth.data, options);
  expect_frequencies(truth, result.model, 1e-4);
  EXPECT_NEAR(evaluate(result.model, truth.data).log_z.rms, 0, 1e-3);
}

// theory.md 3: the saturated optimum of `sampled` is the right p with A = 1/(2 alpha); the constant is
// stored.
TEST(Trainer, SampledSettlesAtOneOverTwoAlpha) {
  const Saturated truth;
  for (const double alpha : {0.5, 1.0, 4.0}) {
    TrainOptions options = tight("sampled");
    options.objective.alpha = alpha;
    options.objective.gamma = 1;
    const TrainResult result = train_alone(truth.data, options);
    EXPECT_EQ(result.optimiser, "lbfgs");
    expect_frequencies(truth, result.model, 1e-3);
    for (const double a : Table(result.model).log_z) EXPECT_NEAR(a, 1 / (2 * alpha), 1e-3);
    EXPECT_NEAR(result.model.log_normalizer, 1 / (2 * alpha), 1e-3);
  }
}

// |H| is rounded to whole examples, which must not change the weight of the penalty.
TEST(Trainer, SampledConstantDoesNotDependOnTheBatchSize) {
  const Saturated truth;
  for (const uint64_t batch : {1u, 4u, 14u, 64u}) {
    TrainOptions options = tight("sampled");
    options.objective.alpha = 1;
    options.batch = batch;
    options.epochs = 200;
    EXPECT_NEAR(train_alone(truth.data, options).model.log_normalizer, 0.5, 0.06) << batch;
  }
}

TEST(Trainer, BatchesOfZeroWeightAreNoDivergence) {
  Dataset data = random_dataset({.rows = 200, .features = 3, .classes = 3}, 2);
  data.weight.assign(200, 0);
  for (uint64_t i = 0; i < 200; i += 50) data.weight[i] = 1;
  TrainOptions options;
  options.optimiser = "adagrad";
  options.batch = 4;
  EXPECT_FALSE(train_alone(data, options).diverged);
}

TEST(Trainer, BatchLargerThanTheDataIsOneBatch) {
  const Dataset data = random_dataset({.rows = 50, .features = 3, .classes = 3}, 2);
  TrainOptions options;
  options.optimiser = "adam";
  options.batch = UINT64_MAX;
  EXPECT_EQ(train_alone(data, options).last.step, options.epochs);
}

TEST(Trainer, SampledFractionInMinibatchesFindsTheSameConstant) {
  const Saturated truth;
  TrainOptions options = tight("sampled");
  options.objective.alpha = 1;
  options.objective.gamma = 0.3;
  options.batch = 50;
  options.epochs = 400;
  const TrainResult result = train_alone(truth.data, options);
  EXPECT_EQ(result.optimiser, "adagrad");
  expect_frequencies(truth, result.model, 0.05);
  EXPECT_NEAR(result.model.log_normalizer, 0.5, 0.05);
  EXPECT_LT(evaluate(result.model, truth.data).log_z.rms, 0.1);
}

// constraint: rms log Z in [0.99, 1.01] delta on the training data, unless the optimum satisfies it anyway.
TEST(Trainer, ConstraintIsMetAndTight) {
  const Dataset data = random_dataset({.rows = 150, .features = 6, .classes = 3}, 4);
  const TrainResult exact = train_alone(data, tight("exact"));
  ASSERT_GT(evaluate(exact.model, data).log_z.rms, 0.03);
  for (const char* precision : {"float", "double"}) {
    double previous = evaluate(exact.model, data).nll_exact;
    for (const double delta : {0.03, 0.02, 0.01, 0.002}) {
      TrainOptions options = tight("constraint");
      options.precision = precision;
      options.tolerance = 1e-6;
      options.objective.delta = delta;
      const Evaluation e = evaluate(train_alone(data, options).model, data);
      EXPECT_LE(e.log_z.rms, 1.01 * delta);
      EXPECT_GE(e.log_z.rms, 0.98 * delta);
      EXPECT_GE(e.nll_exact, previous - 1e-5) << "a tighter constraint cannot fit better";
      previous = e.nll_exact;
    }
  }
}

// Hard cases: separable data, where the unconstrained maximum is at infinity, and deltas over four decades.
TEST(Trainer, ConstraintIsMetAndTightOnSeparableData) {
  GenerateOptions generate_options;
  generate_options.rows = 300;
  generate_options.features = 60;
  generate_options.classes = 6;
  generate_options.temperature = 3;
  const Dataset data = generate(generate_options).data;
  double previous = 0;
  for (const double delta : {3.0, 0.3, 0.03, 0.003, 0.0003}) {
    TrainOptions options;
    options.objective.name = "constraint";
    options.objective.delta = delta;
    const Evaluation e = evaluate(train_alone(data, options).model, data);
    EXPECT_LE(e.log_z.rms, 1.01 * delta);
    EXPECT_GE(e.log_z.rms, 0.97 * delta);
    EXPECT_LT(e.nll_exact, std::log(6.0)) << "worse than the uniform model, which is feasible";
    EXPECT_GE(e.nll_exact, previous - 1e-3);
    previous = e.nll_exact;
  }
}

TEST(Trainer, ConstraintThatIsNotActiveGivesTheMaximumLikelihood) {
  const Saturated truth;  // saturated: normalisation is free
  struct Listener : TrainObserver {
    std::string warning;
    void on_warning(const std::string& text) override { warning = text; }
  } observer;
  TrainOptions options = tight("constraint");
  options.objective.delta = 0.5;
  const TrainResult result = train_classifier(truth.data, std::nullopt, options, {}, observer);
  EXPECT_NE(observer.warning.find("not active"), std::string::npos);
  expect_frequencies(truth, result.model, 1e-3);
}

// theory.md 2.1 (Theorem 2) at an unregularised maximum: gap <= (1 - a) mean KL(p || Unif), a = min(1,
// delta/(R |eta|)), with the norm taken over the stacked weights and biases and R = max |(x, 1)|, log K the
// centre of V.
TEST(Trainer, LikelihoodGapRespectsTheoremTwo) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const Dataset data = random_dataset({.rows = 120, .features = 4, .classes = 3}, seed);
    TrainOptions options = tight("exact");
    options.scale = "none";
    const ModelFile best = train_alone(data, options).model;
    const double gap_free = evaluate(best, data).nll_exact, kl = evaluate(best, data).kl_uniform;
    // Around log K the zero vector is the normalised model: drop the starting bias -log K.
    double norm = 0, radius = 0;
    for (const float w : best.weight) norm += static_cast<double>(w) * static_cast<double>(w);
    for (const float b : best.bias) norm += std::pow(static_cast<double>(b) + std::log(3.0), 2);
    for (uint64_t i = 0; i < data.examples(); ++i) {
      double square = 1;
      for (const float v : data.features.dense.row(i))
        square += static_cast<double>(v) * static_cast<double>(v);
      radius = std::max(radius, std::sqrt(square));
    }
    for (const double delta : {0.02, 0.1, 0.5}) {
      TrainOptions constrained = options;
      constrained.objective.name = "constraint";
      constrained.objective.delta = delta;
      constrained.tolerance = 1e-6;
      const double gap = evaluate(train_alone(data, constrained).model, data).nll_exact - gap_free;
      const double a = std::min(1.0, delta / (radius * std::sqrt(norm)));
      EXPECT_LE(gap, (1 - a) * kl + 1e-6) << delta;
    }
  }
}

TEST(Trainer, RegularisationShrinksAndL1MakesZeros) {
  const Dataset data = random_dataset({.rows = 200, .features = 10, .classes = 3}, 5);
  const auto size = [](const ModelFile& m) {
    double s = 0;
    for (const float w : m.weight) s += static_cast<double>(w) * static_cast<double>(w);
    return s;
  };
  const auto zeros = [](const ModelFile& m) { return std::count(m.weight.begin(), m.weight.end(), 0.0f); };
  TrainOptions options = tight("exact");
  const ModelFile plain = train_alone(data, options).model;
  options.l2 = 1;
  EXPECT_LT(size(train_alone(data, options).model), 0.5 * size(plain));
  options.l2 = 0;
  options.l1 = 0.05;
  options.tolerance = 1e-5;
  EXPECT_GT(zeros(train_alone(data, options).model), 5);
  EXPECT_EQ(zeros(plain), 0);
  options.optimiser = "adagrad";
  options.epochs = 100;
  EXPECT_GT(zeros(train_alone(data, options).model), 5);
}

// The penalty is a mean over all inputs: the training inputs once more change nothing, and others come nearer
// to 0 than they were without.
TEST(Trainer, UnlabelledInputsArePenalisedToo) {
  const Dataset data = random_dataset({.rows = 60, .features = 12, .classes = 4}, 3);
  const Dataset others = random_dataset({.rows = 200, .features = 12, .classes = 4}, 4);
  TrainOptions options = tight("penalty");
  options.objective.alpha = 1;
  options.l2 = 1e-3;
  TrainObserver observer;
  const auto trained = [&](std::optional<Dataset> unlabelled) {
    return train_classifier(data, std::nullopt, options, {}, observer, std::move(unlabelled)).model;
  };
  const ModelFile alone = trained(std::nullopt), twice = trained(data), more = trained(others);
  for (size_t i = 0; i < alone.weight.size(); ++i) EXPECT_NEAR(twice.weight[i], alone.weight[i], 1e-3);
  EXPECT_LT(evaluate(more, others).log_z.rms, 0.8 * evaluate(alone, others).log_z.rms);
  EXPECT_GE(evaluate(more, data).nll_exact, evaluate(alone, data).nll_exact - 1e-3);
}

TEST(Trainer, UnlabelledInputsAreForThePenalty) {
  const Dataset data = random_dataset({}, 1);
  TrainObserver observer;
  TrainOptions options;
  options.objective.name = "exact";
  EXPECT_THROW(train_classifier(data, std::nullopt, options, {}, observer, data), Error);
  options.objective.name = "penalty";
  options.optimiser = "adagrad";
  EXPECT_THROW(train_classifier(data, std::nullopt, options, {}, observer, data), Error);
  options.optimiser = "auto";
  EXPECT_THROW(train_classifier(data, std::nullopt, options, {}, observer, Dataset{}), Error);
}

TEST(Trainer, WeightsAreRepetitions) {
  Dataset repeated = random_dataset({.rows = 40, .features = 3, .classes = 2}, 6);
  Dataset weighted = repeated;
  weighted.weight.assign(40, 1);
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 40; ++i) {
    rows.push_back(i);
    if (i % 4 == 0) {
      rows.insert(rows.end(), 2, i);
      weighted.weight[i] = 3;
    }
  }
  TrainOptions options = tight("penalty");
  options.scale = "none";
  options.l2 = 1e-3;
  const ModelFile a = train_alone(subset(repeated, rows), options).model,
                  b = train_alone(weighted, options).model;
  for (size_t i = 0; i < a.weight.size(); ++i) EXPECT_NEAR(a.weight[i], b.weight[i], 1e-4);
}

TEST(Trainer, ClassWeightsMoveTheMarginals) {
  const Saturated truth;
  TrainOptions options = tight("exact");
  options.class_weight = "a=4";
  const Table table(train_alone(truth.data, options).model);
  const double p = std::exp(table.score[0][0] - table.log_z[0]);
  EXPECT_NEAR(p, 4 * 0.5 / (4 * 0.5 + 0.5), 1e-3);
  options.class_weight = "z=1";
  EXPECT_THROW(train_alone(truth.data, options), Error);
  options.class_weight = "a=2x";
  EXPECT_THROW(train_alone(truth.data, options), Error);
  options.class_weight = "a=x";
  EXPECT_THROW(train_alone(truth.data, options), Error);
}

// Choices drawn from a known eta: the estimate is within 5 standard errors (fixed seed).
TEST(Trainer, JointModelRecoversTheTruth) {
  Dataset data = random_groups(4000, 3, 7);
  const std::vector<double> eta{1.0, -0.5, 0.25};
  RandomStream random(8);
  for (uint64_t g = 0; g < data.examples(); ++g) {
    std::vector<double> p;
    double total = 0;
    for (uint64_t r = data.group_begin[g]; r < data.group_begin[g + 1]; ++r) {
      double s = 0;
      for (uint32_t j = 0; j < 3; ++j) s += eta[j] * static_cast<double>(data.features.dense.row(r)[j]);
      p.push_back(std::exp(s));
      total += p.back();
    }
    double u = random.uniform() * total;
    uint32_t y = 0;
    while (y + 1 < p.size() && u >= p[y]) u -= p[y++];
    data.target.own()[g] = y;
  }
  const TrainResult exact = train_alone(data, tight("exact"));
  for (uint32_t j = 0; j < 3; ++j) EXPECT_NEAR(exact.model.weight[j], eta[j], 5 * 0.03);
  // The penalty learns the level of log Z, which alternatives have no bias for.
  const Evaluation e = evaluate(train_alone(data, tight("penalty")).model, data);
  EXPECT_LT(std::abs(e.log_z.mean), 0.02);
}

TEST(Trainer, UnusableDataAreUserErrors) {
  Dataset one_class = random_dataset({.rows = 5, .features = 2, .classes = 3}, 1);
  one_class.target.assign(5, 1);
  TrainOptions options;
  EXPECT_THROW(train_alone(one_class, options), Error);
  Dataset empty;
  empty.labels = {"a", "b"};
  EXPECT_THROW(train_alone(empty, options), Error);
  options.objective.name = "sampled";
  options.optimiser = "lbfgs";
  EXPECT_THROW(train_alone(random_dataset({}, 1), options), Error);
  options.objective.name = "constraint";
  options.optimiser = "adam";
  EXPECT_THROW(train_alone(random_dataset({}, 1), options), Error);
}

TEST(Trainer, EncodersMustFitTheData) {
  TrainOptions options;
  const auto error = [&](const Dataset& data) -> std::string {
    try {
      train_alone(data, options);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  const Dataset dense = random_dataset({}, 1), sparse = random_dataset({.sparse = true}, 1);
  options.encoder.kind = "identity";
  EXPECT_EQ(error(dense), "accepted");
  EXPECT_EQ(error(sparse),
            "the identity encoder needs dense features, found sparse ones; use encoder sparse");
  options.encoder.kind = "sparse";
  EXPECT_EQ(error(sparse), "accepted");
  EXPECT_EQ(error(dense), "the sparse encoder needs sparse features, found dense ones; use encoder identity");
  options.encoder.kind = "bag";
  EXPECT_NE(error(sparse), "accepted");
}

// Dropout is adaptive L2 (Wager et al. 2013): smaller weights. Full passes have no minibatches to leave
// inputs out of.
TEST(Trainer, DropoutShrinksWeightsAndNeedsMinibatches) {
  // The class is the largest of the first three features: without dropout the weights grow on and on.
  Dataset data = random_dataset({.rows = 500, .features = 10, .classes = 3}, 5);
  for (uint64_t i = 0; i < data.examples(); ++i) {
    const auto x = data.features.dense.row(i);
    data.target.own()[i] = static_cast<uint32_t>(std::max_element(x.begin(), x.begin() + 3) - x.begin());
  }
  TrainOptions options = tight("exact");
  options.optimiser = "adagrad";
  options.epochs = 50;
  options.batch = 100;
  const auto square = [&](double dropout) {
    options.encoder.dropout = dropout;
    double sum = 0;
    for (const float w : train_alone(data, options).model.weight)
      sum += static_cast<double>(w) * static_cast<double>(w);
    return sum;
  };
  const double whole = square(0);
  const double some = square(0.2), most = square(0.5);
  EXPECT_LT(some, 0.4 * whole);
  EXPECT_GT(some, 0.1 * whole);
  EXPECT_LT(most, 0.4 * some);
  EXPECT_GT(most, 0.1 * some);
  const TrainResult chosen = [&] {
    options.optimiser = "auto";
    return train_alone(data, options);
  }();
  EXPECT_EQ(chosen.optimiser, "adagrad");
  EXPECT_NE(chosen.model.training_json.find("\"dropout\":0.5"), std::string::npos);
  options.optimiser = "lbfgs";
  EXPECT_THROW(train_alone(data, options), Error);
  options.optimiser = "auto";
  options.objective.name = "constraint";
  EXPECT_THROW(train_alone(data, options), Error);
}

TEST(Trainer, DivergenceKeepsTheLastGoodModel) {
  TrainOptions options;
  options.optimiser = "adam";
  options.learning_rate = 3e38;
  options.schedule = "constant";
  for (const uint64_t epochs : {1, 10}) {
    for (const uint64_t batch : {100, 600}) {  // with one step in all nothing follows it
      options.epochs = epochs;
      options.batch = batch;
      const TrainResult result =
          train_alone(random_dataset({.rows = 600, .features = 3, .classes = 3}, 2), options);
      EXPECT_TRUE(result.diverged);
      EXPECT_NE(result.reason.find("learning-rate"), std::string::npos);
      for (const float w : result.model.weight) EXPECT_TRUE(std::isfinite(w));
    }
  }
}

TEST(HoldOut, SplitsEveryExampleOnce) {
  const Dataset data = random_dataset({.rows = 101, .features = 2, .classes = 3}, 3);
  ClassifierRows rows{data, std::nullopt, std::nullopt};
  hold_out_rows(rows, 0.1, {});
  const Dataset &train_part = rows.train, &valid_part = *rows.valid;
  EXPECT_EQ(valid_part.examples(), 10u);
  EXPECT_EQ(train_part.examples(), 91u);
  double all = 0, parts = 0;
  for (const float v : data.features.dense.values) all += static_cast<double>(v);
  for (const Dataset* d : {&train_part, &valid_part}) {
    for (const float v : d->features.dense.values) parts += static_cast<double>(v);
  }
  EXPECT_NEAR(all, parts, 1e-5);
  ClassifierRows one{subset(data, std::vector<uint64_t>{0}), std::nullopt, std::nullopt};
  EXPECT_THROW(hold_out_rows(one, 0.1, {}), Error);
}

}  // namespace
}  // namespace selfnorm
