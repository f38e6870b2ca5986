#include <gtest/gtest.h>

#include <cmath>

#include "math/random.h"
#include "model/huffman.h"
#include "objective/hierarchical.h"

namespace selfnorm {
namespace {

ModelFile random_tree_model(uint32_t classes, uint32_t features) {
  ModelFile model;
  model.family = Family::Hierarchical;
  model.classes = classes;
  model.features = features;
  RandomStream random(3);
  std::vector<uint64_t> counts(classes);
  for (uint64_t& n : counts) n = random.below(100);
  model.tree = huffman_tree(counts);
  for (uint32_t i = 0; i < (classes - 1) * features; ++i)
    model.weight.push_back(static_cast<float>(random.normal()));
  for (uint32_t i = 0; i + 1 < classes; ++i) model.bias.push_back(static_cast<float>(random.normal()));
  return model;
}

TEST(TreeModel, ProbabilitiesSumToOne) {
  for (const uint32_t classes : {2u, 3u, 17u}) {
    const ModelFile model = random_tree_model(classes, 4);
    const std::vector<float> state{0.5f, -1, 2, 0};
    std::vector<double> log_prob(classes);
    tree_log_probs(model, state, log_prob);
    double sum = 0;
    for (uint32_t k = 0; k < classes; ++k) {
      sum += std::exp(log_prob[k]);
      EXPECT_NEAR(path_nll(model, state, k), -log_prob[k], 1e-12);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

// Two classes are one decision: the probability of the right child is sigma(s).
TEST(TreeModel, OneDecision) {
  const ModelFile model = random_tree_model(2, 1);
  const std::vector<float> state{1.5f};
  const double s = static_cast<double>(model.weight[0]) * 1.5 + static_cast<double>(model.bias[0]);
  const uint32_t right = model.tree[0] % 2 == 1 ? 0 : 1;
  EXPECT_NEAR(std::exp(-path_nll(model, state, right)), 1 / (1 + std::exp(-s)), 1e-12);
}

}  // namespace
}  // namespace selfnorm
