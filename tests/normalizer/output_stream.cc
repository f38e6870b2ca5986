#include "normalizer/output_stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "normalizer/class_moments.h"
#include "random_head.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(OutputStream, VisitsEveryExampleInOrderAcrossBlocks) {
  const ModelFile model = random_head(5, 3, 1);
  const Dataset data = random_dataset({.rows = 9000, .features = 3, .classes = 5}, 3);
  const auto source = make_example_source(data);
  const ClassMoments expected = class_moments(*make_class_scores(model, false), data.features, data.target);
  uint64_t next = 0, blocks = 0, reported = 0;
  OutputStream(model, *source)
      .run(
          [&](const OutputBlock& block) {
            EXPECT_EQ(block.first, next);
            EXPECT_EQ(block.data.examples(), block.rows.size());
            for (const OutputRow& row : block.rows) {
              EXPECT_EQ(row.moments.log_z(), expected.rows[next].log_z());
              EXPECT_EQ(row.target_score, expected.target_score[next]);
              EXPECT_EQ(row.is_correct, expected.rows[next].best == data.target[next]);
              EXPECT_EQ(row.outputs, 5u);
              ++next;
            }
            ++blocks;
          },
          [&](uint64_t done) { reported = done; });
  EXPECT_EQ(next, 9000u);
  EXPECT_EQ(reported, 9000u);
  EXPECT_GT(blocks, 1u);
}

TEST(OutputStream, EnumeratesGroups) {
  const Dataset data = random_groups(50, 3, 4);
  const auto source = make_example_source(data);
  const ModelFile model = joint_model({1, -2, 0.5});
  const std::vector<double> log_z = log_normalizers(model, *source);
  for (uint64_t g = 0; g < 50; ++g) {
    LogSumExp sum;
    for (uint64_t row = data.group_begin[g]; row < data.group_begin[g + 1]; ++row) {
      double s = 0;
      for (uint32_t j = 0; j < 3; ++j)
        s += static_cast<double>(model.weight[j]) * static_cast<double>(data.features.dense.row(row)[j]);
      sum.add(s);
    }
    EXPECT_NEAR(log_z[g], sum.value(), 1e-5);
  }
}

TEST(OutputStream, RefusesWhatDoesNotFit) {
  const auto rows = make_example_source(random_dataset({.rows = 5, .features = 4, .classes = 3}, 5));
  const auto groups = make_example_source(random_groups(5, 3, 6));
  EXPECT_THROW(OutputStream(random_head(3, 3, 1), *rows), Error);
  EXPECT_THROW(OutputStream(random_head(3, 3, 1), *groups), Error);
  EXPECT_THROW(OutputStream(joint_model({1, 2, 3, 4}), *rows), Error);
  ModelFile large = random_head(3, 4, 1);
  for (float& w : large.weight) w = 3e38f;
  EXPECT_THROW(log_normalizers(large, *rows), Error);
}

// Adding what all alternatives of a group share changes nothing; changing a weight does.
TEST(ModelDifference, OfGroups) {
  Dataset data = random_groups(40, 3, 7);
  for (uint64_t row = 0; row < data.features.dense.rows; ++row) data.features.dense.values[row * 3] = 1;
  const ModelFile p = joint_model({0, 1, -1});
  EXPECT_NEAR(model_difference(p, joint_model({5, 1, -1}), data).probability, 0, 1e-6);
  const HeadDifference moved = model_difference(p, joint_model({0, 1.5, -1}), data);
  EXPECT_GT(moved.probability, 0.01);
  EXPECT_GT(moved.kl, 0);
}

}  // namespace
}  // namespace selfnorm
