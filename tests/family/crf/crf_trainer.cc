#include "family/crf/crf_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "family/crf/crf_batch.h"
#include "interrupter.h"
#include "scratch.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

struct Levels {
  double nll = 0, square = 0;  // of A
  double mean = 0, per_position = 0;
  double with_length = 0;  // mean of A T
};

// By enumeration.
Levels levels_of(const CrfModel& model, const Sequences& data) {
  Levels out;
  const auto n = static_cast<double>(data.sentences());
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const double a = enumerated_log_z(model, data, i);
    out.nll += (a - direct_score(model, data, i, labels_of(data, i))) / n;
    out.square += a * a / n;
    out.mean += a / n;
    out.per_position += a / static_cast<double>(data.positions());
    out.with_length += a * static_cast<double>(data.length(i)) / n;
  }
  return out;
}

struct Recorder : TrainObserver {
  void on_progress(const Progress& p) override { lines.push_back(p); }
  std::vector<Progress> lines;
};

class CrfTrainer : public testing::Test {
 protected:
  CrfTrainResult train(const CrfOptions& options) {
    return train_crf({train_, valid_ ? &*valid_ : nullptr, encoder_}, options, {}, recorder_);
  }
  void use(const CrfPlan& plan) {
    train_ = random_sequences(plan);
    encoder_ = small_encoder(plan);
  }
  void use_validation(CrfPlan plan) {
    plan.seed += 10;
    valid_ = random_sequences(plan);
  }

  Sequences train_;
  std::optional<Sequences> valid_;
  SequenceEncoder encoder_;
  Recorder recorder_;
};

CrfOptions options_of(const std::string& objective, double l2) {
  CrfOptions options;
  options.objective.name = objective;
  options.l2 = l2;
  options.tolerance = 1e-7;
  return options;
}

TEST_F(CrfTrainer, StartsNormalised) {
  use({.bigrams = 2});
  train(options_of("exact", 0.01));
  ASSERT_FALSE(recorder_.lines.empty());
  const double length = static_cast<double>(train_.positions()) / static_cast<double>(train_.sentences());
  EXPECT_NEAR(*recorder_.lines[0].nll, length * std::log(3), 1e-5);
  EXPECT_NEAR(*recorder_.lines[0].log_z_rms, 0, 1e-5);
}

// Without attributes and transitions p(y_t = k) is the share of label k.
TEST_F(CrfTrainer, FindsTheClosedForm) {
  use({.unigrams = 0, .has_transitions = false});
  const CrfTrainResult result = train(options_of("exact", 0));
  EXPECT_EQ(result.optimiser, "lbfgs");
  std::vector<double> count(3);
  for (const uint32_t y : train_.label) count[y] += 1 / static_cast<double>(train_.positions());
  const std::vector<float>& bias = result.model.theta;
  ASSERT_EQ(bias.size(), 3u);
  for (size_t k = 1; k < 3; ++k)
    EXPECT_NEAR(static_cast<double>(bias[k] - bias[0]), std::log(count[k] / count[0]), 1e-3);
}

// l2 theta + (1/N)(expected - observed counts) = 0 at the optimum, checked by differences of the loss.
TEST_F(CrfTrainer, ReachesAStationaryPoint) {
  const CrfPlan plan{.longest = 4, .bigrams = 2, .has_values = true};
  use(plan);
  for (const char* objective : {"exact", "penalty"}) {
    const CrfOptions options = options_of(objective, 0.05);
    const CrfTrainResult result = train(options);
    const auto loss = [&](const CrfModel& model) {
      const Levels levels = levels_of(model, train_);
      double squares = 0;
      for (size_t i = 0; i < model.shape.bias(); ++i)
        squares += std::pow(static_cast<double>(model.theta[i]), 2);
      const double alpha = options.objective.name == "penalty" ? options.objective.alpha : 0;
      return levels.nll + alpha * levels.square + 0.5 * options.l2 * squares;
    };
    EXPECT_NEAR(loss(result.model), result.last.loss, 1e-4);
    for (size_t i = 0; i < result.model.theta.size(); i += 5) {
      CrfModel up = result.model, down = result.model;
      up.theta[i] += 0.05f;
      down.theta[i] -= 0.05f;
      EXPECT_NEAR((loss(up) - loss(down)) / 0.1, 0, 5e-3) << objective << " " << i;
    }
  }
}

TEST_F(CrfTrainer, PenaltyTradesLikelihoodForNormalisation) {
  use({.sentences = 40});
  CrfOptions options = options_of("exact", 0.001);
  const Levels exact = levels_of(train(options).model, train_);
  options.objective.name = "penalty";
  options.objective.alpha = 0.1;
  const Levels some = levels_of(train(options).model, train_);
  options.objective.alpha = 10;
  const Levels much = levels_of(train(options).model, train_);
  EXPECT_LT(some.square, 0.5 * exact.square);
  EXPECT_LT(much.square, some.square);
  EXPECT_LE(exact.nll, some.nll + 1e-3);
  EXPECT_LT(some.nll, much.nll);
}

TEST_F(CrfTrainer, ConstraintIsMet) {
  use({.sentences = 40});
  CrfOptions options = options_of("constraint", 0.001);
  options.tolerance = 1e-5;
  for (const double delta : {0.02, 0.1}) {
    options.objective.delta = delta;
    const double rms = std::sqrt(levels_of(train(options).model, train_).square);
    EXPECT_LE(rms, delta * 1.001);
    EXPECT_GE(rms, delta * 0.9);
  }
}

TEST_F(CrfTrainer, CalibrationIsAGauge) {
  const CrfPlan plan{.sentences = 40};
  use(plan);
  use_validation(plan);
  CrfOptions options = options_of("penalty", 0.01);
  const CrfModel calibrated = train(options).model;
  EXPECT_NEAR(levels_of(calibrated, *valid_).mean, 0, 1e-5);
  EXPECT_NEAR(levels_of(calibrated, *valid_).with_length, 0, 1e-4);
  options.patience = 0;
  const CrfModel last = train(options).model;
  options.calibrate = false;
  const CrfModel plain = train(options).model;
  EXPECT_NEAR(levels_of(last, *valid_).nll, levels_of(plain, *valid_).nll, 1e-5);
  EXPECT_GT(std::abs(levels_of(plain, *valid_).per_position), 1e-4);
  const size_t pairs = plain.shape.transition();
  const double shift = static_cast<double>(last.theta[pairs] - plain.theta[pairs]);
  for (size_t i = 0; i < plain.shape.bias(); ++i)
    EXPECT_NEAR(static_cast<double>(last.theta[i] - plain.theta[i]), i < pairs ? 0 : shift, 1e-6);
}

// A constant of a sentence is not free there, and a b(x) would be another kind of score.
TEST_F(CrfTrainer, WithoutTransitionsCalibrationIsPerPosition) {
  const CrfPlan plan{.sentences = 40, .has_transitions = false};
  use(plan);
  use_validation(plan);
  const CrfModel model = train(options_of("penalty", 0.01)).model;
  EXPECT_NEAR(levels_of(model, *valid_).per_position, 0, 1e-5);
  EXPECT_FALSE(model.normalizer.exists);
}

TEST_F(CrfTrainer, AdaGradComesToTheSameLoss) {
  use({.sentences = 60});
  CrfOptions options = options_of("penalty", 0.02);
  const double best = train(options).last.loss;
  options.optimiser = "adagrad";
  options.batch = 4;
  options.epochs = 200;
  const CrfModel model = train(options).model;
  const Levels levels = levels_of(model, train_);
  double squares = 0;
  for (size_t i = 0; i < model.shape.bias(); ++i) squares += std::pow(static_cast<double>(model.theta[i]), 2);
  EXPECT_NEAR(levels.nll + 0.1 * levels.square + 0.01 * squares, best, 0.01 * best);
}

TEST_F(CrfTrainer, SampledIsCentredWithoutValidationData) {
  use({.sentences = 60});
  CrfOptions options = options_of("sampled", 0.01);
  options.objective.gamma = 0.5;
  const CrfTrainResult result = train(options);
  EXPECT_EQ(result.optimiser, "adagrad");
  const Levels levels = levels_of(result.model, train_);
  EXPECT_NEAR(levels.mean, 0, 1e-5);
  EXPECT_NEAR(levels.with_length, 0, 1e-4);
  EXPECT_LT(levels.nll, *recorder_.lines[0].nll);
  options.calibrate = false;
  EXPECT_GT(std::abs(levels_of(train(options).model, train_).mean), 0.01);
}

// The optimum of sampled has A = 1/(2 alpha) in every sentence (theory.md 3): nothing of that may be left.
TEST_F(CrfTrainer, SampledLeavesNoTrendWithLength) {
  use({.sentences = 200, .longest = 6});
  CrfOptions options = options_of("sampled", 0);
  options.objective.alpha = 0.1;
  options.objective.gamma = 1;
  options.epochs = 60;
  options.calibrate = false;
  const Levels plain = levels_of(train(options).model, train_);
  EXPECT_GT(plain.mean, 2);
  options.calibrate = true;
  const Levels levels = levels_of(train(options).model, train_);
  EXPECT_LT(std::sqrt(levels.square), 1);
}

TEST_F(CrfTrainer, L1LeavesFewAttributes) {
  use({.unigrams = 30});
  CrfOptions options = options_of("exact", 0);
  options.l1 = 0.05;
  const std::vector<float> theta = train(options).model.theta;
  EXPECT_GT(std::count(theta.begin(), theta.end() - 3, 0.f), 50);
  EXPECT_EQ(std::count(theta.end() - 3, theta.end(), 0.f), 0);
}

TEST_F(CrfTrainer, RefusesWhatItCannotUse) {
  use({});
  const auto refused = [&](const auto& change) {
    CrfOptions options;
    change(options);
    EXPECT_THROW(train(options), Error);
  };
  refused([](CrfOptions& o) { o.objective.name = "nce"; });
  refused([](CrfOptions& o) { o.objective.centre = 1; });
  refused([](CrfOptions& o) { o.objective.learn_centre = true; });
  refused([](CrfOptions& o) { o.optimiser = "adam"; });
  refused([](CrfOptions& o) { o.l2 = -1; });
  refused([](CrfOptions& o) { o.batch = 0; });
  refused([&](CrfOptions&) { valid_ = Sequences{}; });
  valid_.reset();
  refused([&](CrfOptions&) { train_.label[0] = kNoLabel; });
  use({.labels = 1});
  refused([](CrfOptions&) {});
}

struct CrfCase {
  const char* name;
  const char* objective;
  const char* optimiser;
  double l1 = 0;
  uint64_t bigrams = 0;

  friend void PrintTo(const CrfCase& c, std::ostream* out) { *out << c.name; }
};

class CrfResume : public testing::TestWithParam<CrfCase> {
 protected:
  CrfResume() {
    const CrfPlan plan{.sentences = 150, .longest = 6, .unigrams = 20, .bigrams = GetParam().bigrams};
    const Sequences data = random_sequences(plan);
    std::vector<uint64_t> first(120), rest(30);
    for (uint64_t i = 0; i < 150; ++i) (i < 120 ? first[i] : rest[i - 120]) = i;
    train_ = subset(data, first);
    valid_ = subset(data, rest);
    encoder_ = small_encoder(plan);
    options_.objective.name = GetParam().objective;
    options_.optimiser = GetParam().optimiser;
    options_.l1 = GetParam().l1;
    options_.epochs = 3;
    options_.iterations = 40;
  }
  CrfTrainResult run(TrainObserver& observer, bool resume) const {
    return train_crf({train_, &valid_, encoder_}, options_,
                     {.path = scratch_ / "checkpoint.safetensors", .seconds = 1e9, .resume = resume},
                     observer);
  }

  Scratch scratch_;
  Sequences train_, valid_;
  SequenceEncoder encoder_;
  CrfOptions options_;
};

TEST_P(CrfResume, GivesTheSameModel) {
  TrainObserver quiet;
  const CrfTrainResult whole = run(quiet, false);
  EXPECT_FALSE(whole.diverged);
  int sessions = 0;
  const CrfTrainResult part = finished_in_sessions(
      [this](TrainObserver& observer, bool resume) { return run(observer, resume); }, 3, sessions);
  EXPECT_GT(sessions, 1);
  EXPECT_EQ(part.model.theta, whole.model.theta);
  EXPECT_EQ(part.model.training_json, whole.model.training_json);
  EXPECT_EQ(part.reason, whole.reason);
}

TEST_P(CrfResume, ThreadsDoNotChangeTheModel) {
  TrainObserver quiet;
  options_.threads = 1;
  const CrfTrainResult one = run(quiet, false);
  for (const int threads : {2, 3}) {
    options_.threads = threads;
    EXPECT_EQ(run(quiet, false).model.theta, one.model.theta);
  }
}

TEST_P(CrfResume, RefusesACheckpointOfOtherOptions) {
  Interrupter interrupter(2);
  ASSERT_TRUE(run(interrupter, false).interrupted);
  options_.l2 = 0.125;
  TrainObserver quiet;
  EXPECT_THROW(run(quiet, true), Error);
}

INSTANTIATE_TEST_SUITE_P(All, CrfResume,
                         testing::Values(CrfCase{"lbfgs", "penalty", "lbfgs"},
                                         CrfCase{"bigrams", "exact", "lbfgs", 0, 3},
                                         CrfCase{"owlqn", "exact", "lbfgs", 1e-3},
                                         CrfCase{"constraint", "constraint", "lbfgs"},
                                         CrfCase{"adagrad", "penalty", "adagrad", 1e-4, 2},
                                         CrfCase{"sampled", "sampled", "adagrad"}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace selfnorm::test
