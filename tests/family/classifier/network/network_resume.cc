// Networks: interrupted and resumed runs, and runs with other numbers of threads, give the same model bit for
// bit; runs that diverge give a model that is usable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/reader_checks.h"
#include "family/classifier/network/bag_problem.h"
#include "family/classifier/network/network_trainer.h"
#include "interrupter.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct NetworkCase {
  const char* objective;
  const char* noise = "unigram";
  const char* sharing = "batch";
  const char* normalizer = "constant";
  uint32_t hidden = 0;
  bool learn_centre = false;

  friend void PrintTo(const NetworkCase& c, std::ostream* out) {
    *out << c.objective << ' ' << c.noise << ' ' << c.sharing << ' ' << c.normalizer << " hidden " << c.hidden
         << (c.learn_centre ? " centre learned" : "");
  }
};

class NetworkResume : public testing::TestWithParam<NetworkCase> {
 protected:
  NetworkResume() {
    const NetworkCase& c = GetParam();
    options_.objective.name = c.objective;
    options_.objective.noise = c.noise;
    options_.objective.noise_sharing = c.sharing;
    options_.objective.normalizer = c.normalizer;
    options_.objective.learn_centre = c.learn_centre;
    options_.objective.samples = 40;
    options_.encoder.kind = "bag";
    options_.encoder.dimension = 12;
    options_.encoder.hidden = c.hidden;
    options_.encoder.dropout = 0.2;
    options_.l2 = 0.01;
    options_.epochs = 4;
    options_.batch = 150;  // three units of examples, the last minibatch smaller
    options_.seed = 3;
  }

  TrainResult run(TrainObserver& observer, bool resume) const {
    const BagFeed train(train_), valid(valid_);
    const CheckpointOptions checkpoint{
        .path = scratch_.path("c.safetensors"), .seconds = 1e9, .resume = resume};
    return train_network(train, has_valid_ ? &valid : nullptr, bag_plan(), options_, checkpoint, observer);
  }

  Scratch scratch_;
  TrainOptions options_;
  Dataset train_ = bag_data(500, 5), valid_ = bag_data(90, 6);
  bool has_valid_ = true;
};

TEST_P(NetworkResume, GivesTheSameModel) {
  for (const bool has_valid : {true, false}) {
    has_valid_ = has_valid;
    TrainObserver quiet;
    const TrainResult whole = run(quiet, false);
    int sessions = 0;
    const TrainResult part = finished_in_sessions(
        [this](TrainObserver& observer, bool resume) { return run(observer, resume); }, 3, sessions);
    EXPECT_EQ(sessions, 6);  // 16 steps
    EXPECT_TRUE(part.model == whole.model);
    EXPECT_EQ(part.reason, whole.reason);
    EXPECT_EQ(part.last.loss, whole.last.loss);
  }
}

TEST_P(NetworkResume, ThreadsDoNotChangeTheModel) {
  TrainObserver quiet;
  options_.threads = 1;
  const TrainResult one = run(quiet, false);
  for (const int threads : {2, 3}) {
    options_.threads = threads;
    EXPECT_TRUE(run(quiet, false).model == one.model) << threads;
  }
}

TEST_P(NetworkResume, RefusesACheckpointOfOtherOptions) {
  Interrupter interrupter(2);
  ASSERT_TRUE(run(interrupter, false).interrupted);
  TrainObserver quiet;
  options_.encoder.dropout = 0.25;
  EXPECT_THROW(run(quiet, true), Error);
  options_.encoder.dropout = 0.2;
  train_.target.own()[7] = (train_.target[7] + 1) % kBagClasses;
  EXPECT_THROW(run(quiet, true), Error);
}

// The model returned is one whose loss was finite: the start, when the first step led astray, or what the end
// of the first epoch validated as the best so far.
TEST_P(NetworkResume, DivergenceLeavesAFiniteModel) {
  TrainObserver quiet;
  for (const auto& [patience, epochs] : {std::pair(options_.patience, options_.epochs), {0, 1}}) {
    for (const bool has_valid : {true, false}) {
      for (const uint64_t batch : {150, 500}) {  // in the middle of an epoch, and at its end
        options_.patience = patience;
        options_.epochs = epochs;
        has_valid_ = has_valid;
        options_.batch = batch;
        options_.learning_rate = 1e30;
        const TrainResult result = run(quiet, false);
        EXPECT_TRUE(result.diverged);
        EXPECT_NE(result.reason.find("infinite or NaN"), std::string::npos);
        EXPECT_NE(result.reason.find("learning-rate"), std::string::npos);
        EXPECT_TRUE(is_finite(result.model));
        const double nll = network_quality(result.model, all_examples(BagFeed(train_))).nll;
        EXPECT_LT(nll, has_valid && batch == 500 ? INFINITY : std::log(kBagClasses));
      }
    }
  }
}

// Nothing was kept, so it is the start; b is not the level that was measured of what diverged.
TEST_P(NetworkResume, DivergenceLeavesTheLevelOfItsModel) {
  TrainObserver quiet;
  options_.patience = 0;
  options_.batch = 500;
  options_.epochs = 1;
  bool diverged = false;
  for (const double rate : {1e10, 1e16, 1e20, 1e30}) {
    options_.learning_rate = rate;
    const TrainResult result = run(quiet, false);
    diverged = diverged || result.diverged;
    if (result.diverged) {
      EXPECT_LT(std::abs(result.model.log_normalizer), 10) << rate;
    }
  }
  EXPECT_TRUE(diverged);
}

INSTANTIATE_TEST_SUITE_P(
    All, NetworkResume,
    testing::Values(NetworkCase{.objective = "exact"}, NetworkCase{.objective = "exact", .hidden = 40},
                    NetworkCase{.objective = "penalty", .learn_centre = true},
                    NetworkCase{.objective = "sampled"},
                    NetworkCase{.objective = "hierarchical", .hidden = 6}, NetworkCase{.objective = "nce"},
                    NetworkCase{.objective = "nce", .noise = "in-batch", .normalizer = "linear"},
                    NetworkCase{.objective = "ranking-nce", .sharing = "example"},
                    NetworkCase{.objective = "is", .noise = "uniform"},
                    NetworkCase{.objective = "snl", .normalizer = "mlp", .hidden = 6},
                    NetworkCase{.objective = "snl", .sharing = "example", .normalizer = "zero"}),
    [](const auto& instance) {
      std::string name = instance.param.objective + std::to_string(instance.index);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace selfnorm
