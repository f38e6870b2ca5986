#include "family/crf/crf_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "small_crfs.h"

namespace selfnorm::test {
namespace {

TEST(CrfBatch, IsTheSameCrf) {
  const CrfPlan plan{.unigrams = 30, .bigrams = 5, .has_values = true};
  const Sequences data = random_sequences(plan);
  const CrfModel model = random_crf(plan);
  CrfBatchMaker maker(data, plan.shape());
  for (const std::vector<uint64_t>& sentences : {std::vector<uint64_t>{3}, {7, 0, 12}}) {
    const CrfBatch batch = maker.make(sentences);
    EXPECT_LE(batch.shape.unigrams, plan.unigrams);
    CrfModel small;
    small.shape = batch.shape;
    small.theta.assign(batch.shape.size(), NAN);
    for (const CrfBlock& block : maker.blocks(batch))
      for (size_t i = 0; i < block.size; ++i) {
        EXPECT_TRUE(std::isnan(small.theta.at(block.local + i)));
        small.theta[block.local + i] = model.theta.at(block.global + i);
      }
    for (const float v : small.theta) EXPECT_FALSE(std::isnan(v));
    for (uint64_t j = 0; j < sentences.size(); ++j) {
      const std::vector<uint32_t> y = labels_of(data, sentences[j]);
      EXPECT_EQ(labels_of(batch.data, j), y);
      EXPECT_EQ(direct_score(small, batch.data, j, y), direct_score(model, data, sentences[j], y));
    }
  }
}

TEST(CrfBatch, TouchProbabilities) {
  const CrfPlan plan{.sentences = 4, .unigrams = 3};
  Sequences data = random_sequences(plan);
  std::fill(data.unigram.attribute.begin(), data.unigram.attribute.end(), 0u);
  std::vector<double> has(4);
  for (uint64_t i = 0; i < 4; ++i)
    has[i] = data.unigram.begin[data.sentence_begin[i + 1]] > data.unigram.begin[data.sentence_begin[i]];
  const double share = (has[0] + has[1] + has[2] + has[3]) / 4;
  const std::vector<double> p = touch_probability(data, data.unigram, 3, 2);
  EXPECT_DOUBLE_EQ(p[0], 1 - (1 - share) * (1 - share));
  EXPECT_EQ(p[1], 0);
  EXPECT_EQ(touch_probability(data, data.bigram, 1, 2), std::vector<double>{0});
}

TEST(CrfBatch, PositionNorm) {
  AttributeRows rows;
  EXPECT_EQ(position_norm(rows), 1);
  rows.begin = {0, 3, 8};
  rows.attribute = {0, 1, 2, 0, 1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(position_norm(rows), 2);
  rows.value.assign(8, 2.f);
  EXPECT_DOUBLE_EQ(position_norm(rows), 4);
}

}  // namespace
}  // namespace selfnorm::test
