#include <gtest/gtest.h>

#include "family/classifier/minibatch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

LossSum some_sum() {
  return {.weight = 4,
          .likelihood = 6,
          .penalty = 2,
          .normalised_weight = 2,
          .nll = 5,
          .log_z = 1,
          .log_z_square = 18,
          .d_centre = -3,
          .estimated_weight = 1,
          .log_ratio = 0.1,
          .effective = 40};
}

TEST(EpochSum, ReportsMeans) {
  Progress progress;
  progress.loss = 0.5;  // a regulariser
  report_sum(some_sum(), progress);
  EXPECT_EQ(progress.loss, 2.5);
  EXPECT_EQ(progress.penalty, 0.5);
  EXPECT_EQ(progress.nll, 2.5);
  EXPECT_EQ(progress.log_z_rms, 3);
  EXPECT_EQ(progress.log_ratio, 0.1);
  EXPECT_EQ(progress.effective_samples, 40);
}

TEST(EpochSum, ReportsNothingItHasNot) {
  Progress progress;
  report_sum({}, progress);
  EXPECT_EQ(progress.loss, 0);
  EXPECT_FALSE(progress.nll || progress.log_z_rms || progress.log_ratio || progress.effective_samples);
}

TEST(EpochSum, SurvivesACheckpoint) {
  Checkpoint checkpoint;
  LossSum sum = some_sum(), back;
  CheckpointFields written(checkpoint), read(std::as_const(checkpoint));
  sum_state(sum, written);
  sum_state(back, read);
  EXPECT_EQ(back.weight, sum.weight);
  EXPECT_EQ(back.likelihood, sum.likelihood);
  EXPECT_EQ(back.penalty, sum.penalty);
  EXPECT_EQ(back.normalised_weight, sum.normalised_weight);
  EXPECT_EQ(back.nll, sum.nll);
  EXPECT_EQ(back.log_z, sum.log_z);
  EXPECT_EQ(back.log_z_square, sum.log_z_square);
  EXPECT_EQ(back.d_centre, sum.d_centre);
  EXPECT_EQ(back.estimated_weight, sum.estimated_weight);
  EXPECT_EQ(back.log_ratio, sum.log_ratio);
  EXPECT_EQ(back.effective, sum.effective);
  const Checkpoint empty;
  CheckpointFields nothing(empty);
  EXPECT_THROW(sum_state(back, nothing), Error);
}

}  // namespace
}  // namespace selfnorm
