// SELFNORM_EXACT of every family and every kind of weights sums to 1 over all outputs, for scores of any size
// that float32 holds.
#include <gtest/gtest.h>

#include <cfloat>
#include <numeric>

#include "runtime/random_chain.h"
#include "runtime/random_network.h"

namespace selfnorm::test {
namespace {

constexpr float kMagnitudes[] = {1, 1e2f, 1e4f, 1e6f, 1e9f, 1e15f, 1e22f, 1e30f};

std::vector<uint32_t> all_classes(const selfnorm_model* model) {
  std::vector<uint32_t> out(selfnorm_classes(model));
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

void expect_distribution(const std::vector<double>& log_prob, const char* what, double size) {
  double sum = 0;
  for (const double l : log_prob) {
    EXPECT_LE(l, 0) << what << " " << size;
    sum += std::exp(l);
  }
  EXPECT_NEAR(sum, 1, 1e-6) << what << " " << size;
}

// By the calls that take x, and by the best classes.
void expect_distribution_of(const selfnorm_model* model, const std::vector<float>& x, double size) {
  const std::vector<uint32_t> classes = all_classes(model);
  const size_t n = classes.size();
  std::vector<double> out(n), best(n);
  std::vector<uint32_t> order(n), index(x.size());
  ASSERT_EQ(selfnorm_score_dense(model, x.data(), x.size(), classes.data(), n, SELFNORM_EXACT, out.data()),
            SELFNORM_OK);
  expect_distribution(out, "dense", size);
  ASSERT_EQ(selfnorm_top_dense(model, x.data(), x.size(), n, SELFNORM_EXACT, order.data(), best.data()),
            SELFNORM_OK);
  for (size_t i = 0; i < n; ++i) EXPECT_EQ(best[i], out[order[i]]);
  if (selfnorm_inputs(model) != x.size()) return;  // with an encoder x is a state, which has no sparse form
  std::iota(index.begin(), index.end(), 0u);
  ASSERT_EQ(selfnorm_score_sparse(model, index.data(), x.data(), x.size(), classes.data(), n, SELFNORM_EXACT,
                                  out.data()),
            SELFNORM_OK);
  expect_distribution(out, "sparse", size);
}

TEST(ExactNormalisation, OfClasses) {
  std::mt19937 random(1);
  for (const WeightKind kind : kKinds) {
    for (const uint32_t classes : {1u, 2u, 7u, 300u, 1000u}) {
      for (const float size : kMagnitudes) {
        ModelFile model = random_model(random, classes, 5, kind);
        // classes that have the same score, however large
        for (size_t i = 0; classes > 3 && i < 5; ++i)
          model.weight[5 + i] = model.weight[10 + i] = model.weight[i];
        const OpenModel open(model);
        expect_distribution_of(open, normals(random, 5, size), size);
      }
    }
  }
}

TEST(ExactNormalisation, OfLargeBiasesAndCarriers) {
  std::mt19937 random(2);
  for (const WeightKind kind : kKinds) {
    for (const float size : kMagnitudes) {
      ModelFile model = random_model(random, 40, 3, kind);
      for (float& b : model.bias) b = 1.3f + size;
      for (float& h : model.log_carrier) h *= size;
      expect_distribution_of(OpenModel(model), normals(random, 3, size), size);
    }
  }
}

// W = [[40], [-40]], b = [1.3, 0]: log p of the first class is -log(1 + exp(-80 x - 1.3)).
TEST(ExactNormalisation, OfTwoClassesFarApart) {
  ModelFile model;
  model.classes = 2;
  model.features = 1;
  model.input = ModelInput::Dense;
  model.weight = {40, -40};
  model.bias = {1.3f, 0};
  model.labels = {"0", "1"};
  const OpenModel open(model);
  const uint32_t classes[] = {0, 1};
  for (const float x : {1e-3f, 1e-2f, 1e4f, 1e6f, 1e30f}) {
    double out[2] = {};
    ASSERT_EQ(selfnorm_score_dense(open, &x, 1, classes, 2, SELFNORM_EXACT, out), SELFNORM_OK);
    const double difference = 80 * static_cast<double>(x) + static_cast<double>(1.3f);
    EXPECT_NEAR(out[0], -std::log1p(std::exp(-difference)), 1e-6) << x;
    EXPECT_NEAR(out[1], out[0] - difference, 1e-6 * difference) << x;
  }
}

TEST(ExactNormalisation, OfTreesBagsAndLanguageModels) {
  std::mt19937 random(3);
  for (const Family family : {Family::Multiclass, Family::Hierarchical}) {
    for (const WeightKind kind : kKinds) {
      for (const uint32_t hidden : {0u, 6u}) {
        for (const float size : kMagnitudes) {
          ModelFile bag = random_bag_model(random, family, 30, hidden);
          bag.weights = kind;
          const OpenModel open(bag);
          expect_distribution_of(open, normals(random, bag.features, size), size);
          ModelFile words = random_context_model(random, family, 30, hidden);
          words.weights = kind;
          for (float& w : words.encoder.embedding) w *= size;
          OpenModel language(words);
          for (const bool is_precomputed : {false, true}) {
            ASSERT_EQ(is_precomputed ? selfnorm_precompute(language.get(), 1) : SELFNORM_OK, SELFNORM_OK);
            selfnorm_state state;
            ASSERT_EQ(selfnorm_begin_sentence(language, &state), SELFNORM_OK);
            std::vector<double> out(30), pairs(30);
            const auto all = all_classes(language);
            ASSERT_EQ(selfnorm_score_words(language, &state, all.data(), 30, SELFNORM_EXACT, out.data()),
                      SELFNORM_OK);
            expect_distribution(out, "words", size);
            std::vector<uint32_t> contexts;
            for (size_t i = 0; i < 30; ++i)
              contexts.insert(contexts.end(), state.words, state.words + state.positions);
            ASSERT_EQ(selfnorm_score_contexts(language, contexts.data(), all.data(), 30, SELFNORM_EXACT,
                                              pairs.data()),
                      SELFNORM_OK);
            EXPECT_EQ(pairs, out);
          }
        }
      }
    }
  }
}

TEST(ExactNormalisation, OfChains) {
  for (const float size : kMagnitudes) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      const ChainPlan plan{.sentences = 6,
                           .labels = 3,
                           .bigrams = seed % 3,
                           .has_transitions = seed % 2 == 0,
                           .has_values = seed % 4 < 2,
                           .seed = seed};
      ChainModel model = random_chain(plan);
      for (float& weight : model.theta) weight *= size;
      const Sequences data = random_sequences(plan);
      const OpenModel open(saved_bytes(model));
      ChainMemory memory(open, plan.longest);
      for (uint64_t i = 0; i < data.sentences(); ++i) {
        const selfnorm_sentence x = sentence_of(data, i);
        std::vector<double> all;
        double best = 0;
        for_each_labelling(plan.labels, x.positions, [&](const std::vector<uint32_t>& y) {
          all.push_back(1);
          ASSERT_EQ(selfnorm_score_labelling(open, &x, y.data(), SELFNORM_EXACT, memory.data(),
                                             memory.bytes(), &all.back()),
                    SELFNORM_OK);
        });
        expect_distribution(all, "labellings", size);
        std::vector<uint32_t> labels(x.positions);
        std::vector<double> p(x.positions * plan.labels);
        ASSERT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels.data(), &best),
                  SELFNORM_OK);
        EXPECT_NEAR(best, *std::max_element(all.begin(), all.end()), 1e-6);
        ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p.data()), SELFNORM_OK);
        for (size_t t = 0; t < x.positions; ++t)
          EXPECT_NEAR(std::accumulate(p.begin() + 3 * ptrdiff_t(t), p.begin() + 3 * ptrdiff_t(t) + 3, 0.0), 1,
                      1e-6);
      }
    }
  }
}

// Products of int8 weights leave float32 before they are scaled, where the score itself does not.
TEST(ExactNormalisation, OfInputsNearTheEndOfFloat32) {
  std::mt19937 random(4);
  for (const WeightKind kind : kKinds) {
    ModelFile model = random_model(random, 40, 6, kind);
    for (float& w : model.weight) w *= 0.1f;
    expect_distribution_of(OpenModel(model), normals(random, 6, 1e37f), 1e37);
  }
}

TEST(ExactNormalisation, ScoresBeyondFloat32AreErrors) {
  for (const WeightKind kind : kKinds) {
    std::mt19937 random(5);
    ModelFile model = random_model(random, 300, 2, kind);
    model.weight[2 * 290] = 1000;
    const OpenModel open(model);
    const float x[] = {3e38f, 0};
    const uint32_t bad = 290, good = 3;
    double out = 7;
    for (const int score : {SELFNORM_RAW, SELFNORM_EXACT})
      EXPECT_EQ(selfnorm_score_dense(open, x, 2, &bad, 1, score, &out), SELFNORM_ERROR_NOT_FINITE);
    EXPECT_EQ(selfnorm_score_dense(open, x, 2, &good, 1, SELFNORM_EXACT, &out), SELFNORM_ERROR_NOT_FINITE);
    EXPECT_EQ(selfnorm_log_normalizer_dense(open, x, 2, &out), SELFNORM_ERROR_NOT_FINITE);
    EXPECT_EQ(out, 7);
  }
}

}  // namespace
}  // namespace selfnorm::test
