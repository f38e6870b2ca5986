// Interrupted and resumed runs, and runs with other numbers of threads, give the same model bit for bit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "family/classifier/loop.h"
#include "family/classifier/trainer.h"
#include "interrupter.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct ResumedCase {
  const char* name;
  const char* objective;
  const char* optimiser;
  double l1;
  bool sparse;
  bool joint;
  const char* precision;
  const char* normalizer = "constant";
  const char* noise = "unigram";
  const char* sharing = "batch";
  double dropout = 0;
  double l2_from = 0;

  friend void PrintTo(const ResumedCase& c, std::ostream* out) { *out << c.name; }
};

class Resume : public testing::TestWithParam<ResumedCase> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("selfnorm-resume-" + std::to_string(getpid()) + "-" + GetParam().name + ".safetensors");
    std::filesystem::remove(path_);
    const ResumedCase& c = GetParam();
    options_.objective.name = c.objective;
    options_.optimiser = c.optimiser;
    options_.l1 = c.l1;
    options_.precision = c.precision;
    options_.objective.normalizer = c.normalizer;
    options_.objective.normalizer_hidden = 3;
    options_.objective.noise = c.noise;
    options_.objective.noise_sharing = c.sharing;
    options_.encoder.dropout = c.dropout;
    options_.l2_from = c.l2_from;
    options_.epochs = 4;
    options_.batch = 32;
    options_.iterations = 60;
    data_ = c.joint ? random_groups(300, 5, 1)
                    : random_dataset({.rows = 300, .features = 8, .classes = 5, .sparse = c.sparse}, 1);
    auto parts = hold_out(data_, 0.2, 3);
    train_ = std::move(parts.first);
    valid_ = std::move(parts.second);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  TrainResult run(TrainObserver& observer, bool resume) const {
    return train_classifier(train_, valid_, options_,
                            {.path = path_.string(), .seconds = 1e9, .resume = resume}, observer);
  }

  std::filesystem::path path_;
  TrainOptions options_;
  Dataset data_, train_, valid_;
};

TEST_P(Resume, GivesTheSameModel) {
  TrainObserver quiet;
  const TrainResult whole = run(quiet, false);
  int sessions = 0;
  const TrainResult part = finished_in_sessions(
      [this](TrainObserver& observer, bool resume) { return run(observer, resume); }, 3, sessions);
  EXPECT_GT(sessions, 1);
  EXPECT_TRUE(part.model == whole.model);
  EXPECT_EQ(part.reason, whole.reason);
}

// What a step had done when a loop was interrupted is not in the checkpoint; a full pass leaves the last
// step.
TEST_P(Resume, AStepInterruptedInTheMiddleIsTakenAgain) {
  TrainObserver quiet;
  const TrainResult whole = run(quiet, false);
  LoopInterrupter interrupter(2);
  const bool is_full = std::string(GetParam().optimiser) == "lbfgs";
  try {
    const TrainResult part = run(interrupter, false);
    EXPECT_TRUE(part.interrupted);
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_TRUE(part.last.step == 2 || !is_full) << part.last.step;
  } catch (const Interrupted&) {
    EXPECT_FALSE(is_full);
    withdraw_interruption();
  }
  EXPECT_TRUE(run(quiet, true).model == whole.model);
}

TEST_P(Resume, ThreadsDoNotChangeTheModel) {
  TrainObserver quiet;
  options_.threads = 1;
  const TrainResult one = run(quiet, false);
  options_.threads = 2;
  EXPECT_TRUE(run(quiet, false).model == one.model);
}

TEST_P(Resume, RefusesACheckpointOfOtherOptions) {
  Interrupter interrupter(2);
  ASSERT_TRUE(run(interrupter, false).interrupted);
  options_.l2 = 0.125;
  TrainObserver quiet;
  EXPECT_THROW(run(quiet, true), Error);
}

INSTANTIATE_TEST_SUITE_P(
    All, Resume,
    testing::Values(
        ResumedCase{"lbfgs", "penalty", "lbfgs", 0, false, false, "float"},
        ResumedCase{"lbfgs_double", "exact", "lbfgs", 0, true, false, "double"},
        ResumedCase{"owlqn", "penalty", "lbfgs", 1e-3, true, false, "float"},
        ResumedCase{"constraint", "constraint", "lbfgs", 0, false, false, "float"},
        ResumedCase{"adagrad", "sampled", "adagrad", 0, true, false, "float"},
        ResumedCase{"adam", "penalty", "adam", 1e-4, false, false, "float"},
        ResumedCase{"nce", "nce", "adam", 0, true, false, "float"},
        ResumedCase{"ranking_nce", "ranking-nce", "adagrad", 0, true, false, "float"},
        ResumedCase{"is", "is", "adam", 0, false, false, "double"},
        ResumedCase{"snl", "snl", "adagrad", 1e-4, false, false, "float"},
        ResumedCase{"linear", "snl", "adagrad", 0, false, false, "float", "linear", "in-batch"},
        ResumedCase{"mlp", "nce", "adam", 0, true, false, "double", "mlp", "uniform", "example"},
        ResumedCase{"zero", "snl", "adagrad", 1e-4, true, false, "float", "zero", "unigram", "example"},
        ResumedCase{"dropout", "snl", "adagrad", 0, true, false, "float", "linear", "unigram", "batch", 0.3},
        ResumedCase{"exact_dropout", "penalty", "adagrad", 0, false, false, "float", "constant", "unigram",
                    "batch", 0.5},
        ResumedCase{"path", "exact", "lbfgs", 0, false, false, "float", "constant", "unigram", "batch", 0,
                    0.3},
        ResumedCase{"joint", "penalty", "lbfgs", 0, false, true, "float"},
        ResumedCase{"joint_adagrad", "penalty", "adagrad", 0, false, true, "float"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(CheckpointSize, IsWhatWasSaidBefore) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("selfnorm-size-" + std::to_string(getpid()) + ".safetensors");
  const auto parts = hold_out(random_dataset({.rows = 300, .features = 400, .classes = 50}, 1), 0.2, 3);
  for (const std::string optimiser : {"lbfgs", "adagrad", "adam"}) {
    TrainOptions options;
    options.objective.name = "penalty";
    options.optimiser = optimiser;
    options.batch = 32;
    options.history = 3;
    options.patience = 100;
    Interrupter interrupter(30);
    ASSERT_TRUE(train_classifier(parts.first, parts.second, options, {.path = path.string(), .seconds = 1e9},
                                 interrupter)
                    .interrupted);
    const double said = 4.0 * 401 * 50 * loop_vectors(options, optimiser, true).checkpoint;
    const auto found = static_cast<double>(std::filesystem::file_size(path));
    EXPECT_NEAR(found, said, 0.05 * said) << optimiser;
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace selfnorm
