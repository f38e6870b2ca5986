#include <gtest/gtest.h>

#include <cmath>

#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_gauge.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

std::vector<CrfPlan> plans() {
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

Enumerated enumerated(const CrfModel& model, const Sequences& data, uint64_t sentence) {
  Enumerated out{enumerated_log_z(model, data, sentence), {}};
  for_each_labelling(model.shape.labels, data.length(sentence), [&](const std::vector<uint32_t>& y) {
    out.log_p.push_back(direct_score(model, data, sentence, y) - out.log_z);
  });
  return out;
}

TEST(CrfNormalization, MovesLogZByTheFitAndLeavesEveryProbability) {
  for (CrfPlan plan : plans()) {
    const CrfModel before = random_crf(plan);
    const NormalizedCrf done = normalize_crf(before, random_sequences(plan));
    plan.sentences = 15;
    plan.seed = 9;
    const Sequences others = random_sequences(plan);
    const Dataset rows = sentence_features(others, before.shape, CrfFeatures::all);
    for (uint64_t i = 0; i < others.sentences(); ++i) {
      const Enumerated one = enumerated(before, others, i), two = enumerated(done.model, others, i);
      const double b = crf_normalizer(done.model.normalizer, others, i);
      EXPECT_NEAR(two.log_z - b, one.log_z - done.gauge(rows.features, i), 1e-4);
      for (size_t y = 0; y < one.log_p.size(); ++y) EXPECT_NEAR(two.log_p[y], one.log_p[y], 1e-4);
    }
  }
}

TEST(CrfNormalization, HeldOutSentencesAreNormalisedToo) {
  const CrfPlan plan{.sentences = 400}, other{.sentences = 400, .seed = 2};
  const CrfModel before = random_crf(plan);
  const Sequences held_out = random_sequences(other);
  const NormalizedCrf done = normalize_crf(before, random_sequences(plan));
  const LogZStatistics one = describe(crf_log_z(before, held_out)),
                       two = describe(crf_log_z(done.model, held_out));
  EXPECT_NEAR(two.std * two.std, done.plain.residual_variance, 0.3 * done.plain.residual_variance);
  EXPECT_LT(two.std, 0.7 * one.std);
  EXPECT_LE(done.plain.residual_variance, done.gauge.residual_variance * (1 + 1e-9));
}

TEST(CrfNormalization, WithoutTransitionsTheConstantIsB) {
  const CrfPlan plan{.sentences = 50, .has_transitions = false};
  const NormalizedCrf done = normalize_crf(random_crf(plan), random_sequences(plan));
  EXPECT_TRUE(done.model.normalizer.exists);
  EXPECT_EQ(done.model.normalizer.per_sentence, done.gauge.intercept);
  EXPECT_TRUE(done.model.normalizer.slope.empty());
}

TEST(CrfNormalization, AnOldBIsLeftOut) {
  const CrfPlan plan{.sentences = 50};
  CrfModel model = random_crf(plan);
  const NormalizedCrf one = normalize_crf(model, random_sequences(plan));
  model.normalizer = {true, 3, 4, std::vector<float>(plan.unigrams, 1)};
  const NormalizedCrf two = normalize_crf(model, random_sequences(plan));
  EXPECT_FALSE(two.model.normalizer.exists);
  EXPECT_EQ(two.model.theta, one.model.theta);
}

TEST(CrfNormalization, AmortisedLeavesParameters) {
  for (const CrfPlan& plan : plans()) {
    const Sequences data = random_sequences(plan);
    CrfModel model = random_crf(plan);
    const std::vector<float> theta = model.theta;
    const double before = describe(crf_log_z(model, data)).rms;
    const double after = amortise_crf(data, model);
    EXPECT_EQ(model.theta, theta);
    EXPECT_TRUE(model.normalizer.exists);
    EXPECT_LT(after, before);
    EXPECT_NEAR(evaluate_crf(model, data).amortised->log_z.rms, after, 1e-9);
    EXPECT_EQ(describe(crf_log_z(model, data)).rms, before);
    const CrfNormalizer b = model.normalizer;
    amortise_crf(data, model);  // an old b has no part in the new one
    EXPECT_EQ(model.normalizer.slope, b.slope);
    EXPECT_EQ(model.normalizer.per_sentence, b.per_sentence);
  }
}

TEST(CrfNormalization, AmortisedHoldsOnOtherSentences) {
  const CrfPlan plan{.sentences = 400}, other{.sentences = 400, .seed = 2};
  CrfModel model = random_crf(plan);
  amortise_crf(random_sequences(plan), model);
  const CrfEvaluation found = evaluate_crf(model, random_sequences(other));
  EXPECT_LT(found.amortised->log_z.rms, 0.25 * found.log_z.rms);
  for (const float slope : model.normalizer.slope) EXPECT_NE(slope, 0);
}

TEST(CrfNormalization, DifferencesAreThoseOfEnumeration) {
  const CrfPlan plan{.sentences = 40};
  const CrfModel p = random_crf(plan);
  Sequences data = random_sequences(plan);
  EXPECT_EQ(crf_difference(p, p, data).log_probability, 0);
  CrfModel q = p;
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
  const CrfDifference found = crf_difference(p, q, data);
  EXPECT_NEAR(found.probability, marginal, 1e-5);
  EXPECT_NEAR(found.log_probability, own, 1e-5);
  data.label.assign(data.label.size(), kNoLabel);
  EXPECT_LE(crf_difference(p, q, data).log_probability, found.log_probability);
}

TEST(CrfNormalization, TellsHowFarItIsAndRefusesOtherData) {
  const CrfPlan plan{.sentences = 5000, .longest = 1};
  std::vector<uint64_t> told;
  normalize_crf(random_crf(plan), random_sequences(plan), [&](uint64_t done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<uint64_t>{4096, 5000}));
  const CrfPlan larger{.unigrams = 20};
  EXPECT_THROW(normalize_crf(random_crf(plan), random_sequences(larger)), Error);
  EXPECT_THROW(normalize_crf(random_crf(plan), {}), Error);
  EXPECT_THROW(crf_difference(random_crf(plan), random_crf(larger), {}), Bug);
}

}  // namespace
}  // namespace selfnorm::test
