// Chains through the C interface, against enumeration and against the library.
#include "selfnorm/runtime/crf_scorer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "family/crf/crf_evaluation.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "runtime/random_crf.h"

namespace selfnorm::test {
namespace {

CrfPlan random_plan(std::mt19937& random) {
  CrfPlan plan;
  plan.seed = random();
  plan.sentences = 3;
  plan.labels = 1 + up_to(random, 16);
  plan.longest = plan.labels < 5 ? 5 : plan.labels < 9 ? 3 : 2;
  plan.unigrams = random() % 9;
  plan.bigrams = random() % 3;
  plan.has_transitions = random() % 3 != 0;
  plan.has_values = random() % 2 == 0;
  return plan;
}

RC_GTEST_PROP(RuntimeCrf, EqualsEnumeration, (uint32_t seed)) {
  std::mt19937 random(seed);
  const CrfPlan plan = random_plan(random);
  CrfModel model = random_crf(plan);
  model.normalizer = {true, 0.7, -0.2, normals(random, plan.unigrams)};
  const Sequences data = random_sequences(plan);
  const OpenModel open(saved_bytes(model));
  CrfMemory memory(open, plan.longest);
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const selfnorm_sentence x = sentence_of(data, i);
    const double log_z = enumerated_log_z(model, data, i);
    std::vector<double> marginal(x.positions * plan.labels), p(marginal.size());
    double best = -1e300, total = 0, a = 0, b = 0, tagged = 0;
    for_each_labelling(plan.labels, x.positions, [&](const std::vector<uint32_t>& y) {
      const double score = direct_score(model, data, i, y);
      best = std::max(best, score);
      total += std::exp(score - log_z);
      for (size_t t = 0; t < y.size(); ++t) marginal[t * plan.labels + y[t]] += std::exp(score - log_z);
    });
    RC_ASSERT(selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), &a) == SELFNORM_OK);
    RC_ASSERT(selfnorm_chain_amortised_normalizer(open, &x, &b) == SELFNORM_OK);
    RC_ASSERT(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p.data()) == SELFNORM_OK);
    RC_ASSERT(std::fabs(a - log_z) < 1e-5);
    RC_ASSERT(std::fabs(b - crf_normalizer(model.normalizer, data, i)) < 1e-9);
    for (size_t k = 0; k < p.size(); ++k) RC_ASSERT(std::fabs(p[k] - marginal[k]) < 1e-5);
    const double level[] = {0, a, b};
    for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT, SELFNORM_AMORTISED}) {
      std::vector<uint32_t> labels(x.positions);
      double out = 0;
      RC_ASSERT(selfnorm_tag(open, &x, memory.data(), memory.bytes(), kind, labels.data(), &tagged) ==
                SELFNORM_OK);
      RC_ASSERT(std::fabs(direct_score(model, data, i, labels) - best) < 1e-5);
      RC_ASSERT(std::fabs(tagged - (best - level[kind])) < 1e-5);
      const auto given = labels_of(data, i);
      RC_ASSERT(selfnorm_score_labelling(open, &x, given.data(), kind, memory.data(), memory.bytes(), &out) ==
                SELFNORM_OK);
      const double tolerance = kind == SELFNORM_EXACT ? 1e-5 : 1e-9;
      RC_ASSERT(std::fabs(out - (direct_score(model, data, i, given) - level[kind])) < tolerance);
    }
  }
}

// Sums of scores are taken in the same order, so labellings agree in every tie.
TEST(RuntimeCrf, LabelsAreThoseOfTheLibrary) {
  for (const CrfPlan& plan :
       {CrfPlan{.longest = 40, .labels = 17, .unigrams = 60},
        CrfPlan{.longest = 30, .labels = 49, .unigrams = 30, .bigrams = 2, .has_values = true},
        CrfPlan{.longest = 30, .labels = 3, .unigrams = 5, .has_transitions = false}}) {
    CrfModel model = random_crf(plan);
    for (size_t i = 0; i < model.theta.size(); i += 2) model.theta[i] = std::round(model.theta[i]);
    const Sequences data = random_sequences(plan);
    const OpenModel open(saved_bytes(model));
    CrfMemory memory(open, plan.longest);
    CrfScorer scorer(model.shape, model.theta);
    Lattice lattice;
    for (uint64_t i = 0; i < data.sentences(); ++i) {
      const selfnorm_sentence x = sentence_of(data, i);
      const CrfScores scores = scorer(data, i);
      std::vector<uint32_t> labels(x.positions);
      std::vector<double> p(x.positions * plan.labels);
      double log_prob = 0, log_z = 0;
      ASSERT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_RAW, labels.data(), &log_prob),
                SELFNORM_OK);
      const Labelling best = viterbi<float>(scores);
      EXPECT_EQ(labels, best.labels);
      EXPECT_NEAR(log_prob, best.score, 1e-4);
      ASSERT_EQ(selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), &log_z), SELFNORM_OK);
      EXPECT_NEAR(log_z, lattice.forward(scores), 1e-4);
      lattice.backward(scores);
      ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p.data()), SELFNORM_OK);
      for (size_t k = 0; k < p.size(); ++k) EXPECT_NEAR(p[k], lattice.marginals()[k], 1e-5);
    }
  }
}

TEST(RuntimeCrf, LongSentencesDoNotUnderflow) {
  const CrfPlan plan{.sentences = 1, .labels = 5};
  const CrfModel model = random_crf(plan);
  constexpr size_t kLength = 10000;
  std::vector<size_t> begin(kLength + 1);
  std::vector<uint32_t> number(kLength), labels(kLength);
  for (size_t t = 0; t < kLength; ++t) begin[t + 1] = t + 1, number[t] = static_cast<uint32_t>(t * t % 8);
  Sequences data;
  data.sentence_begin = {0, kLength};
  data.unigram.begin.assign(begin.begin(), begin.end());
  data.unigram.attribute = number;
  const selfnorm_sentence x = {kLength, {begin.data(), number.data(), nullptr}, {}};
  const std::vector<double> theta(model.theta.begin(), model.theta.end());
  BasicCrfScorer<double> scorer(model.shape, theta);
  BasicLattice<double> lattice;
  const double log_z = lattice.forward(scorer(data, 0));
  const OpenModel open(saved_bytes(model));
  CrfMemory memory(open, kLength);
  double a = 0, exact = 0;
  std::vector<double> p(kLength * 5);
  ASSERT_EQ(selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), &a), SELFNORM_OK);
  EXPECT_NEAR(a, log_z, 1e-7 * log_z);
  ASSERT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels.data(), &exact),
            SELFNORM_OK);
  EXPECT_LT(exact, 0);
  ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p.data()), SELFNORM_OK);
  for (size_t t = 0; t < kLength; ++t)
    EXPECT_NEAR(p[5 * t] + p[5 * t + 1] + p[5 * t + 2] + p[5 * t + 3] + p[5 * t + 4], 1, 1e-12);
}

// u and v rounded to float, far from the sums in double: s and A are of the same scores, so that the numbers
// are log-probabilities, those of the library.
TEST(RuntimeCrf, ExactLogProbabilitiesAreAtMostZero) {
  for (const float size : {1e2f, 1e5f, 1e8f}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const CrfPlan plan{.labels = 3,
                         .bigrams = seed % 3,
                         .has_transitions = seed % 2 == 0,
                         .has_values = true,
                         .seed = seed};
      const CrfModel model = random_crf(plan);
      Sequences data = random_sequences(plan);
      for (float& value : data.unigram.value) value *= size;
      for (float& value : data.bigram.value) value *= size;
      const OpenModel open(saved_bytes(model));
      CrfMemory memory(open, plan.longest);
      CrfScorer scorer(model.shape, model.theta);
      Lattice lattice;
      for (uint64_t i = 0; i < data.sentences(); ++i) {
        const selfnorm_sentence x = sentence_of(data, i);
        const CrfScores scores = scorer(data, i);
        lattice.forward(scores);
        double tagged = 1, scored = 1;
        std::vector<uint32_t> best(x.positions);
        ASSERT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, best.data(), &tagged),
                  SELFNORM_OK);
        EXPECT_LE(tagged, 0);
        for (const auto& y : {best, labels_of(data, i)}) {
          ASSERT_EQ(selfnorm_score_labelling(open, &x, y.data(), SELFNORM_EXACT, memory.data(),
                                             memory.bytes(), &scored),
                    SELFNORM_OK);
          EXPECT_LE(scored, 0);
          EXPECT_NEAR(scored, lattice.log_prob(scores, y), 1e-5 + 1e-6 * size);
          EXPECT_TRUE(y != best || scored == tagged);
        }
      }
    }
  }
}

// Scores whose exponentials vanish, between labels and between positions.
TEST(RuntimeCrf, LargeScoresEqualEnumeration) {
  for (const float size : {30.f, 300.f, 3000.f, 1e6f, 1e36f}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const CrfPlan plan{.sentences = 4, .labels = 3, .bigrams = seed % 2, .seed = seed};
      CrfModel model = random_crf(plan);
      for (float& weight : model.theta) weight *= size;
      const Sequences data = random_sequences(plan);
      const OpenModel open(saved_bytes(model));
      CrfMemory memory(open, plan.longest);
      for (uint64_t i = 0; i < data.sentences(); ++i) {
        const selfnorm_sentence x = sentence_of(data, i);
        const double log_z = enumerated_log_z(model, data, i);
        double a = 0;
        std::vector<double> p(x.positions * 3);
        ASSERT_EQ(selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), &a), SELFNORM_OK);
        EXPECT_NEAR(a, log_z, 1e-6 * (1 + size));
        ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p.data()), SELFNORM_OK);
        for (size_t t = 0; t < x.positions; ++t) EXPECT_NEAR(p[3 * t] + p[3 * t + 1] + p[3 * t + 2], 1, 1e-9);
      }
    }
  }
}

// Scores beside which all others are below rounding still leave those of the other positions as they are,
// also where all transitions of labels in use vanish beside one that is not.
TEST(RuntimeCrf, HugeScoresDoNotSwallowOthers) {
  const size_t begin[] = {0, 0, 1, 1};
  const uint32_t number[] = {0};
  const selfnorm_sentence x = {3, {begin, number, nullptr}, {}};
  const double one = 1 / (1 + std::exp(-1)), expected[] = {one, 1 - one, 0, 1, 0, 0, one, 1 - one, 0};
  for (const float forbidden : {0.f, -1e4f}) {
    CrfModel model = random_crf({.labels = 3, .unigrams = 1});
    model.theta = {3e34f, 0, 0};                                    // W
    model.theta.insert(model.theta.end(), 6, forbidden);            // M
    model.theta.insert(model.theta.end(), {0, 0, 0, 1, 0, -2e4f});  // and bias
    const OpenModel open(saved_bytes(model));
    CrfMemory memory(open, 3);
    double p[9];
    ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p), SELFNORM_OK);
    for (size_t k = 0; k < 9; ++k) EXPECT_NEAR(p[k], expected[k], 1e-12);
  }
}

// u alone would take label 0 everywhere and v forbids it to follow itself: the only labelling that is left
// has weights that vanish beside those that are forbidden.
TEST(RuntimeCrf, ForbiddenTransitionsLeaveOneLabelling) {
  CrfModel model = random_crf({.labels = 2, .unigrams = 0});
  model.theta = {-1e4f, -1e4f, 0, -1e4f, 2000, 0};  // M (2 x 2), bias: only 1 -> 0 is allowed
  const OpenModel open(saved_bytes(model));
  const selfnorm_sentence x = {2, {}, {}};
  CrfMemory memory(open, 2);
  double a = 0, p[4];
  uint32_t labels[2];
  ASSERT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels, &a), SELFNORM_OK);
  EXPECT_NEAR(a, 0, 1e-9);
  EXPECT_EQ(labels[0], 1u);
  EXPECT_EQ(labels[1], 0u);
  ASSERT_EQ(selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), &a), SELFNORM_OK);
  EXPECT_NEAR(a, 2000, 1e-9);
  ASSERT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), p), SELFNORM_OK);
  const double expected[] = {0, 1, 1, 0};
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(p[k], expected[k], 1e-9);
}

}  // namespace
}  // namespace selfnorm::test
