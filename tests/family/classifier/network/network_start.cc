#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "family/classifier/network/network_trainer.h"
#include "math/sigmoid.h"
#include "model/huffman.h"
#include "random_data.h"

namespace selfnorm {
namespace {

const std::vector<uint64_t> kStartCounts{4, 0, 11, 1, 0};  // (n_k + 1) / 21

EncoderPlan plan_of(EncoderKind kind) {
  EncoderPlan plan;
  plan.kind = kind;
  plan.inputs = 40;
  plan.positions = kind == EncoderKind::Context ? 3 : 1;
  plan.classes = 5;
  return plan;
}

TrainOptions start_options(const std::string& objective, uint32_t hidden) {
  TrainOptions options;
  options.objective.name = objective;
  options.encoder.dimension = 8;
  options.encoder.hidden = hidden;
  return options;
}

TEST(NetworkStart, FirstScoresAreTheLogFrequencies) {
  TrainOptions options = start_options("snl", 0);
  for (const bool has_carrier : {false, true}) {
    if (has_carrier) options.log_carrier = random_vector<float>(5, 3);
    const ModelFile model = starting_network(plan_of(EncoderKind::Bag), options, kStartCounts);
    EXPECT_EQ(model.log_carrier, options.log_carrier);
    EXPECT_EQ(model.weight, std::vector<float>(5 * 8, 0.0f));
    ASSERT_EQ(model.bias.size(), 5u);
    for (uint32_t k = 0; k < 5; ++k) {
      const double carrier = has_carrier ? double{model.log_carrier[k]} : 0;
      EXPECT_NEAR(double{model.bias[k]} + carrier, std::log((static_cast<double>(kStartCounts[k]) + 1) / 21),
                  1e-6);
    }
    EXPECT_EQ(model.log_normalizer, 0);
  }
}

TEST(NetworkStart, APathHasTheFrequencyOfItsClass) {
  const ModelFile model =
      starting_network(plan_of(EncoderKind::Bag), start_options("hierarchical", 0), kStartCounts);
  EXPECT_EQ(model.family, Family::Hierarchical);
  EXPECT_EQ(model.tree.size(), 9u);
  EXPECT_EQ(model.bias.size(), 4u);
  EXPECT_EQ(model.weight.size(), 4u * 8);
  for (uint32_t k = 0; k < 5; ++k) {
    double p = 1;
    for_each_ancestor(model.tree, k, [&](uint32_t row, uint32_t side) {
      const double s = double{model.bias[row]};
      p *= sigmoid(side == 1 ? s : -s);
    });
    EXPECT_NEAR(p, (static_cast<double>(kStartCounts[k]) + 1) / 21, 1e-6);
  }
}

void expect_uniform(const std::vector<float>& values, double half_width) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(double{*least}, -half_width);
  EXPECT_LE(double{*most}, half_width);
  EXPECT_LT(double{*least}, -0.9 * half_width);
  EXPECT_GT(double{*most}, 0.9 * half_width);
}

TEST(NetworkStart, ShapesAndSpreads) {
  for (const EncoderKind kind : {EncoderKind::Bag, EncoderKind::Context}) {
    for (const uint32_t hidden : {0u, 16u}) {
      const ModelFile model = starting_network(plan_of(kind), start_options("exact", hidden), kStartCounts);
      const Encoder& encoder = model.encoder;
      const uint32_t pooled = kind == EncoderKind::Context ? 24 : 8;
      EXPECT_EQ(model.input, kind == EncoderKind::Context ? ModelInput::Context : ModelInput::Sparse);
      EXPECT_EQ(encoder.pooled(), pooled);
      EXPECT_EQ(model.features, hidden > 0 ? hidden : pooled);
      EXPECT_EQ(model.weight.size(), 5u * model.features);
      EXPECT_EQ(encoder.embedding.size(), 40u * 8);
      EXPECT_EQ(encoder.hidden_bias, std::vector<float>(hidden, 0.0f));
      ASSERT_EQ(encoder.hidden_weight.size(), size_t{hidden} * pooled);
      expect_uniform(encoder.embedding, kind == EncoderKind::Bag ? 1.0 / 8 : 0.5);
      if (hidden > 0) expect_uniform(encoder.hidden_weight, std::sqrt(6.0 / (pooled + hidden)));
    }
  }
}

TEST(NetworkStart, DependsOnTheSeed) {
  TrainOptions options = start_options("exact", 4);
  const ModelFile first = starting_network(plan_of(EncoderKind::Bag), options, kStartCounts);
  EXPECT_TRUE(starting_network(plan_of(EncoderKind::Bag), options, kStartCounts) == first);
  options.seed = 1;
  EXPECT_NE(starting_network(plan_of(EncoderKind::Bag), options, kStartCounts).encoder.embedding,
            first.encoder.embedding);
}

TEST(NetworkStart, PretrainedEmbeddingsReplaceRandomOnes) {
  const TrainOptions options = start_options("exact", 0);
  const ModelFile random = starting_network(plan_of(EncoderKind::Bag), options, kStartCounts);
  EncoderPlan plan = plan_of(EncoderKind::Bag);
  plan.embedding = random_vector<float>(40 * 8, 9);
  std::fill_n(plan.embedding.begin() + 3 * 8, 8, std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> given = plan.embedding;
  const ModelFile model = starting_network(plan, options, kStartCounts);
  for (size_t i = 0; i < given.size(); ++i)
    EXPECT_EQ(model.encoder.embedding[i], i / 8 == 3 ? random.encoder.embedding[i] : given[i]);
  plan.embedding.pop_back();
  EXPECT_ANY_THROW(starting_network(plan, options, kStartCounts));
}

}  // namespace
}  // namespace selfnorm
