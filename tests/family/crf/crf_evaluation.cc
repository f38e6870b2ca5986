#include "family/crf/crf_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

// The best labelling has nearly all the probability: rounding does not make it more.
TEST(CrfEvaluation, ExactLikelihoodIsAtMostOne) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const CrfPlan plan{.sentences = 1, .longest = 8, .bigrams = seed % 2, .has_values = true, .seed = seed};
    CrfModel model = random_crf(plan);
    for (float& weight : model.theta) weight *= 20;
    Sequences data = random_sequences(plan);
    std::vector<uint32_t> best;
    double most = -1e300;
    for_each_labelling(3, data.positions(), [&](const std::vector<uint32_t>& y) {
      const double score = direct_score(model, data, 0, y);
      if (score > most) best = y;
      most = std::max(most, score);
    });
    data.label = best;
    EXPECT_GE(evaluate_crf(model, data).nll_exact, 0) << seed;
  }
}

TEST(CrfEvaluation, AgreesWithEnumeration) {
  const CrfPlan plan{.sentences = 100, .bigrams = 2, .has_values = true};
  const Sequences data = random_sequences(plan);
  CrfModel model = random_crf(plan);
  model.normalizer = {true, 0.5, -0.25, std::vector<float>(plan.unigrams, 0.125f)};
  double exact = 0, raw = 0, mean = 0, per_token = 0, of_b = 0, b_per_token = 0;
  uint64_t right = 0, whole = 0;
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const std::vector<uint32_t> target = labels_of(data, i);
    const double s = direct_score(model, data, i, target), a = enumerated_log_z(model, data, i);
    double b = -0.25 + 0.5 * static_cast<double>(target.size());
    for (uint64_t t = data.sentence_begin[i]; t < data.sentence_begin[i + 1]; ++t)
      for (const float v : data.unigram.values(t)) b += 0.125 * static_cast<double>(v);
    EXPECT_NEAR(crf_normalizer(model.normalizer, data, i), b, 1e-9);
    exact += a - s;
    raw -= s;
    mean += a;
    per_token += a / static_cast<double>(target.size());
    of_b += b;
    b_per_token += b / static_cast<double>(target.size());
    std::vector<uint32_t> best;
    double most = -1e300;
    for_each_labelling(3, target.size(), [&](const std::vector<uint32_t>& y) {
      const double score = direct_score(model, data, i, y);
      if (score <= most) return;
      most = score;
      best = y;
    });
    for (size_t t = 0; t < best.size(); ++t) right += best[t] == target[t];
    whole += best == target;
  }
  const CrfEvaluation found = evaluate_crf(model, data);
  const auto n = static_cast<double>(data.sentences()), tokens = static_cast<double>(data.positions());
  EXPECT_EQ(found.sentences, 100u);
  EXPECT_NEAR(found.nll_exact, exact / n, 1e-5);
  EXPECT_NEAR(found.nll_exact_per_token, exact / tokens, 1e-5);
  EXPECT_NEAR(found.nll_raw, raw / n, 1e-5);
  EXPECT_NEAR(found.nll_raw_per_token, raw / tokens, 1e-5);
  EXPECT_NEAR(found.log_z.mean, mean / n, 1e-5);
  EXPECT_NEAR(found.log_z_per_token.mean, per_token / n, 1e-5);
  ASSERT_TRUE(found.amortised);
  EXPECT_NEAR(found.amortised->nll, (raw + of_b) / n, 1e-5);
  EXPECT_NEAR(found.amortised->nll_per_token, (raw + of_b) / tokens, 1e-5);
  EXPECT_NEAR(found.amortised->log_z.mean, (mean - of_b) / n, 1e-5);
  EXPECT_NEAR(found.amortised->log_z_per_token.mean, (per_token - b_per_token) / n, 1e-5);
  EXPECT_DOUBLE_EQ(found.accuracy, static_cast<double>(right) / tokens);
  EXPECT_DOUBLE_EQ(found.sentence_accuracy, static_cast<double>(whole) / n);
  EXPECT_FALSE(found.spans);
  uint64_t counted = 0;
  double sum = 0, less_b = 0;
  for (const LengthLevel& level : found.amortised->by_length)
    less_b += level.mean * static_cast<double>(level.sentences);
  EXPECT_NEAR(less_b / n, found.amortised->log_z.mean, 1e-9);
  for (const LengthLevel& level : found.by_length) {
    counted += level.sentences;
    sum += level.mean * static_cast<double>(level.sentences);
    EXPECT_LE(level.shortest, level.longest);
  }
  EXPECT_EQ(counted, 100u);
  EXPECT_NEAR(sum / n, found.log_z.mean, 1e-9);
  ASSERT_EQ(found.by_length.size(), 3u);
  EXPECT_EQ(found.by_length[2].shortest, 4u);
  EXPECT_EQ(found.by_length[2].longest, 7u);
  const std::vector<double> log_z = crf_log_z(model, data);
  EXPECT_NEAR(log_z[7], enumerated_log_z(model, data, 7), 1e-5);
}

TEST(CrfEvaluation, FindsSpans) {
  const CrfPlan plan{.sentences = 30, .labels = 3, .unigrams = 3, .has_transitions = false};
  Sequences data = random_sequences(plan);
  CrfModel model = random_crf(plan);
  model.encoder.labels = {"O", "B-X", "I-X"};
  // The best label of a token is that of its only attribute.
  data.unigram.attribute = data.label;
  data.unigram.begin.clear();
  for (uint64_t t = 0; t <= data.positions(); ++t) data.unigram.begin.push_back(t);
  std::fill(model.theta.begin(), model.theta.end(), 0.f);
  for (size_t k = 0; k < 3; ++k) model.theta[k * 3 + k] = 5;
  const CrfEvaluation all = evaluate_crf(model, data);
  ASSERT_TRUE(all.spans);
  EXPECT_EQ(all.accuracy, 1);
  EXPECT_EQ(all.spans->all.f1(), 1);
  ASSERT_EQ(all.spans->by_type.size(), 1u);
  EXPECT_EQ(all.spans->by_type[0].first, "X");
  EXPECT_GT(all.spans->all.actual, 0u);
  model.theta[model.shape.bias()] = 20;  // everything is O
  const CrfEvaluation none = evaluate_crf(model, data);
  EXPECT_EQ(none.spans->all.predicted, 0u);
  EXPECT_EQ(none.spans->all.f1(), 0);
}

TEST(CrfEvaluation, ThreadsDoNotMatterAndBadDataAreRefused) {
  const CrfPlan plan{.sentences = 200};
  Sequences data = random_sequences(plan);
  const CrfModel model = random_crf(plan);
  EXPECT_EQ(crf_log_z(model, data, 1), crf_log_z(model, data, 3));
  EXPECT_EQ(evaluate_crf(model, data, 1).nll_exact, evaluate_crf(model, data, 2).nll_exact);
  EXPECT_FALSE(evaluate_crf(model, data).amortised);
  data.label[0] = kNoLabel;
  EXPECT_NO_THROW(crf_log_z(model, data));
  EXPECT_THROW(evaluate_crf(model, data), Error);
}

}  // namespace
}  // namespace selfnorm::test
