#include "selfnorm/analysis/chain_normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/analysis/chain_evaluation.h"
#include "selfnorm/base/error.h"
#include "small_chains.h"

namespace selfnorm::test {
namespace {

std::vector<ChainPlan> plans() {
  return {{.sentences = 200},
          {.sentences = 200, .bigrams = 2, .has_values = true},
          {.sentences = 200, .has_transitions = false},
          {.sentences = 12, .longest = 3, .unigrams = 40}};  // fewer sentences than attributes
}

// A(x) and log p(y|x) of every labelling.
struct Enumerated {
  double log_z = 0;
  std::vector<double> log_p;
};

Enumerated enumerated(const ChainModel& model, const Sequences& data, uint64_t sentence) {
  Enumerated out{enumerated_log_z(model, data, sentence), {}};
  for_each_labelling(model.shape.labels, data.length(sentence), [&](const std::vector<uint32_t>& y) {
    out.log_p.push_back(direct_score(model, data, sentence, y) - out.log_z);
  });
  return out;
}

TEST(ChainNormalization, MovesLogZByTheFitAndLeavesEveryProbability) {
  for (ChainPlan plan : plans()) {
    const ChainModel before = random_chain(plan);
    const NormalizedChain done = normalize_chain(before, random_sequences(plan));
    plan.sentences = 15;
    plan.seed = 9;
    const Sequences others = random_sequences(plan);
    const Dataset rows = sentence_features(others, before.shape, ChainFeatures::all);
    for (uint64_t i = 0; i < others.sentences(); ++i) {
      const Enumerated one = enumerated(before, others, i), two = enumerated(done.model, others, i);
      const double b = chain_normalizer(done.model.normalizer, others, i);
      EXPECT_NEAR(two.log_z - b, one.log_z - done.gauge(rows.features, i), 1e-4);
      for (size_t y = 0; y < one.log_p.size(); ++y) EXPECT_NEAR(two.log_p[y], one.log_p[y], 1e-4);
    }
  }
}

TEST(ChainNormalization, HeldOutSentencesAreNormalisedToo) {
  const ChainPlan plan{.sentences = 400}, other{.sentences = 400, .seed = 2};
  const ChainModel before = random_chain(plan);
  const Sequences held_out = random_sequences(other);
  const NormalizedChain done = normalize_chain(before, random_sequences(plan));
  const LogZStatistics one = describe(chain_log_z(before, held_out)),
                       two = describe(chain_log_z(done.model, held_out));
  EXPECT_NEAR(two.std * two.std, done.plain.residual_variance, 0.3 * done.plain.residual_variance);
  EXPECT_LT(two.std, 0.7 * one.std);
  EXPECT_LE(done.plain.residual_variance, done.gauge.residual_variance * (1 + 1e-9));
}

TEST(ChainNormalization, WithoutTransitionsTheConstantIsB) {
  const ChainPlan plan{.sentences = 50, .has_transitions = false};
  const NormalizedChain done = normalize_chain(random_chain(plan), random_sequences(plan));
  EXPECT_TRUE(done.model.normalizer.exists);
  EXPECT_EQ(done.model.normalizer.per_sentence, done.gauge.intercept);
  EXPECT_TRUE(done.model.normalizer.slope.empty());
}

TEST(ChainNormalization, AnOldBIsLeftOut) {
  const ChainPlan plan{.sentences = 50};
  ChainModel model = random_chain(plan);
  const NormalizedChain one = normalize_chain(model, random_sequences(plan));
  model.normalizer = {true, 3, 4, std::vector<float>(plan.unigrams, 1)};
  const NormalizedChain two = normalize_chain(model, random_sequences(plan));
  EXPECT_FALSE(two.model.normalizer.exists);
  EXPECT_EQ(two.model.theta, one.model.theta);
}

TEST(ChainNormalization, AmortisedLeavesParameters) {
  for (const ChainPlan& plan : plans()) {
    const Sequences data = random_sequences(plan);
    ChainModel model = random_chain(plan);
    const std::vector<float> theta = model.theta;
    const double before = describe(chain_log_z(model, data)).rms;
    const double after = amortise_chain(data, model);
    EXPECT_EQ(model.theta, theta);
    EXPECT_TRUE(model.normalizer.exists);
    EXPECT_LT(after, before);
    EXPECT_NEAR(evaluate_chain(model, data).amortised->log_z.rms, after, 1e-9);
    EXPECT_EQ(describe(chain_log_z(model, data)).rms, before);
    const ChainNormalizer b = model.normalizer;
    amortise_chain(data, model);  // an old b has no part in the new one
    EXPECT_EQ(model.normalizer.slope, b.slope);
    EXPECT_EQ(model.normalizer.per_sentence, b.per_sentence);
  }
}

TEST(ChainNormalization, AmortisedHoldsOnOtherSentences) {
  const ChainPlan plan{.sentences = 400}, other{.sentences = 400, .seed = 2};
  ChainModel model = random_chain(plan);
  amortise_chain(random_sequences(plan), model);
  const ChainEvaluation found = evaluate_chain(model, random_sequences(other));
  EXPECT_LT(found.amortised->log_z.rms, 0.25 * found.log_z.rms);
  for (const float slope : model.normalizer.slope) EXPECT_NE(slope, 0);
}

TEST(ChainNormalization, DifferencesAreThoseOfEnumeration) {
  const ChainPlan plan{.sentences = 40};
  const ChainModel p = random_chain(plan);
  Sequences data = random_sequences(plan);
  EXPECT_EQ(chain_difference(p, p, data).log_probability, 0);
  ChainModel q = p;
  q.theta[0] += 0.1f;
  double own = 0, marginal = 0;
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const Enumerated one = enumerated(p, data, i), two = enumerated(q, data, i);
    const std::vector<uint32_t> labels = labels_of(data, i);
    std::vector<double> change(data.length(i) * 3);
    double best = -INFINITY, at_best = 0;
    size_t number = 0;
    for_each_labelling(3, data.length(i), [&](const std::vector<uint32_t>& y) {
      const double log_p = one.log_p[number], log_q = two.log_p[number];
      ++number;
      for (size_t t = 0; t < y.size(); ++t) change[t * 3 + y[t]] += std::exp(log_q) - std::exp(log_p);
      if (y == labels) own = std::max(own, std::abs(log_q - log_p));
      if (log_p > best) at_best = std::abs(log_q - log_p);
      best = std::max(best, log_p);
    });
    own = std::max(own, at_best);
    for (const double c : change) marginal = std::max(marginal, std::abs(c));
  }
  const ChainDifference found = chain_difference(p, q, data);
  EXPECT_NEAR(found.probability, marginal, 1e-5);
  EXPECT_NEAR(found.log_probability, own, 1e-5);
  data.label.assign(data.label.size(), kNoLabel);
  EXPECT_LE(chain_difference(p, q, data).log_probability, found.log_probability);
}

TEST(ChainNormalization, TellsHowFarItIsAndRefusesOtherData) {
  const ChainPlan plan{.sentences = 5000, .longest = 1};
  std::vector<uint64_t> told;
  normalize_chain(random_chain(plan), random_sequences(plan), [&](uint64_t done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<uint64_t>{4096, 5000}));
  const ChainPlan larger{.unigrams = 20};
  EXPECT_THROW(normalize_chain(random_chain(plan), random_sequences(larger)), Error);
  EXPECT_THROW(normalize_chain(random_chain(plan), {}), Error);
  EXPECT_THROW(chain_difference(random_chain(plan), random_chain(larger), {}), Bug);
}

}  // namespace
}  // namespace selfnorm::test
