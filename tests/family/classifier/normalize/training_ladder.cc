#include "family/classifier/normalize/training_ladder.h"

#include <gtest/gtest.h>

namespace selfnorm {
namespace {

ModelFile classes_of(uint32_t classes) {
  ModelFile model;
  model.classes = classes;
  return model;
}

TrainOptions sampled_training() {
  TrainOptions out;
  out.objective.name = "snl";
  out.objective.samples = 100;
  out.epochs = 2;
  return out;
}

TEST(TrainingLadder, LooksAtAsManyInputsAsTheTrainingIsWorth) {
  TrainOptions exact;
  exact.objective.name = "exact";
  exact.epochs = 5;
  const LadderOptions long_training = ladder_after(exact, 100'000, classes_of(5000), {});
  EXPECT_EQ(long_training.most_fitted, LadderOptions().most_fitted);
  EXPECT_EQ(long_training.most_certified, LadderOptions().most_certified);
  EXPECT_FALSE(long_training.is_hasty);
  EXPECT_FALSE(long_training.tries_all);

  uint64_t before = LadderOptions().most_certified;
  for (const uint32_t classes : {100'000u, 1'000'000u}) {
    const LadderOptions found = ladder_after(sampled_training(), 200'000, classes_of(classes), {});
    EXPECT_LE(found.most_certified, before);
    // What it takes to certify 1% with confidence 99% for ten rungs together is 688 inputs.
    EXPECT_GE(found.most_certified, 688u);
    EXPECT_GE(found.most_fitted, 500u);
    before = found.most_certified;
  }
  EXPECT_TRUE(ladder_after(sampled_training(), 200'000, classes_of(1'000'000), {}).is_hasty);
}

TEST(TrainingLadder, KeepsWhatWasAskedFor) {
  LadderOptions given;
  given.within = 0.25;
  given.rho = 0.05;
  given.confidence = 0.9;
  given.most_fitted = 650;
  const LadderOptions found = ladder_after(sampled_training(), 200'000, classes_of(2000), given);
  EXPECT_EQ(found.within, 0.25);
  EXPECT_EQ(found.rho, 0.05);
  EXPECT_EQ(found.confidence, 0.9);
  EXPECT_LE(found.most_fitted, 650u);
}

}  // namespace
}  // namespace selfnorm
