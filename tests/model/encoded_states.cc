#include <gtest/gtest.h>

#include "model/encoder.h"
#include "selfnorm/error.h"
#include "small_corpus.h"

namespace selfnorm {
namespace {

// Rows of E are (10 r, 10 r + 1); the hidden layer gives (v_1 - 5, -v_last).
Encoder encoder_of(EncoderKind kind, uint32_t inputs, uint32_t positions, bool is_hidden) {
  Encoder encoder;
  encoder.kind = kind;
  encoder.inputs = inputs;
  encoder.width = 2;
  encoder.positions = positions;
  for (uint32_t r = 0; r < inputs; ++r) {
    encoder.embedding.push_back(static_cast<float>(10 * r));
    encoder.embedding.push_back(static_cast<float>(10 * r + 1));
  }
  if (!is_hidden) return encoder;
  encoder.hidden_weight.assign(2 * encoder.pooled(), 0.0f);
  encoder.hidden_weight.front() = 1;
  encoder.hidden_weight.back() = -1;
  encoder.hidden_bias = {-5, 0};
  return encoder;
}

TEST(EncodedStates, ContextsOfACorpus) {
  const TokenCorpus corpus = small_corpus("a b\nb\n", {"a", "b"});
  const Encoder encoder = encoder_of(EncoderKind::Context, 5, 2, false);
  const auto source = corpus_states(encoder, corpus);
  EXPECT_EQ(source->examples(), 5u);
  EXPECT_EQ(source->columns(), 4u);
  EXPECT_TRUE(source->has_targets());
  const Dataset all = source->block(0, 5);
  EXPECT_EQ(all.target, (std::vector<uint32_t>{2, 3, 1, 3, 1}));
  // Contexts: (pad pad) (pad a) (a b) (pad pad) (pad b), with pad = 4, a = 2, b = 3.
  EXPECT_EQ(all.features.dense.values, (std::vector<float>{40, 41, 40, 41, 40, 41, 20, 21, 20, 21,
                                                           30, 31, 40, 41, 40, 41, 40, 41, 30, 31}));
  const Dataset some = source->gather(std::vector<uint64_t>{2, 0});
  EXPECT_EQ(some.features.dense.values, (std::vector<float>{20, 21, 30, 31, 40, 41, 40, 41}));
  EXPECT_EQ(some.target, (std::vector<uint32_t>{1, 2}));
}

TEST(EncodedStates, HiddenLayer) {
  const TokenCorpus corpus = small_corpus("a\n", {"a"});
  const Encoder encoder = encoder_of(EncoderKind::Context, 4, 2, true);
  const auto source = corpus_states(encoder, corpus);
  EXPECT_EQ(source->columns(), 2u);
  EXPECT_EQ(source->block(1, 2).features.dense.values, (std::vector<float>{25, 0}));
}

TEST(EncodedStates, BagsOfRows) {
  Dataset data;
  data.features.sparse.columns = 3;
  data.features.sparse.begin = {0, 2, 2};
  data.features.sparse.column = {0, 2};
  data.features.sparse.value = {1, 3};
  data.target = {1, Dataset::kNoTarget};
  const Encoder encoder = encoder_of(EncoderKind::Bag, 3, 1, false);
  const auto source = bag_states(encoder, make_example_source(data));
  EXPECT_FALSE(source->has_targets());
  const Dataset all = source->block(0, 2);
  EXPECT_EQ(all.features.dense.values, (std::vector<float>{15, 16, 0, 0}));
  EXPECT_EQ(all.target, data.target);
  Dataset groups;
  groups.group_begin = {0};
  EXPECT_THROW(bag_states(encoder, make_example_source(groups)), Error);
}

}  // namespace
}  // namespace selfnorm
