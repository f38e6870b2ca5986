#include "family/crf/crf_gauge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "audit/stream.h"
#include "family/crf/crf_evaluation.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

double variance_of(const std::vector<double>& values) {
  RunningVariance out;
  for (const double v : values) out.add(v);
  return out.variance();
}

TEST(CrfGauge, SentenceFeaturesAreSums) {
  const CrfPlan plan{.sentences = 15, .bigrams = 2, .has_values = true};
  const Sequences data = random_sequences(plan);
  const Dataset rows = sentence_features(data, plan.shape(), CrfFeatures::all);
  const SparseMatrix& x = rows.features.sparse;
  ASSERT_EQ(x.columns, 11u);
  ASSERT_EQ(x.rows(), 15u);
  for (uint64_t i = 0; i < 15; ++i) {
    std::vector<double> expected(11), found(11);
    for (uint64_t t = data.sentence_begin[i]; t < data.sentence_begin[i + 1]; ++t) {
      for (size_t j = 0; j < data.unigram.attributes(t).size(); ++j)
        expected[data.unigram.attributes(t)[j]] += static_cast<double>(data.unigram.values(t)[j]);
      for (size_t j = 0; j < data.bigram.attributes(t).size(); ++j)
        expected[8 + data.bigram.attributes(t)[j]] += static_cast<double>(data.bigram.values(t)[j]);
      expected[10] += 1;
    }
    for (uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
      EXPECT_TRUE(e == x.begin[i] || x.column[e] > x.column[e - 1]);
      found[x.column[e]] = static_cast<double>(x.value[e]);
    }
    for (size_t j = 0; j < 11; ++j) EXPECT_NEAR(found[j], expected[j], 1e-5);
  }
  EXPECT_EQ(sentence_features(data, plan.shape(), CrfFeatures::unigrams).features.columns(), 9u);
}

TEST(CrfGauge, LeavesProbabilitiesAndReachesVStar) {
  for (const bool transitions : {true, false}) {
    const CrfPlan plan{.sentences = 300, .bigrams = 2, .has_transitions = transitions};
    const Sequences data = random_sequences(plan);
    const CrfModel before = random_crf(plan);
    const std::vector<double> log_z = crf_log_z(before, data);
    const LinearFit fit = crf_gauge(data, before.shape, log_z, CrfFeatures::all, CrfFitPurpose::fit);
    CrfModel after = before;
    apply_crf_gauge(fit, after);
    const std::vector<double> moved = crf_log_z(after, data);
    EXPECT_NEAR(variance_of(log_z), fit.variance, 1e-6 * fit.variance);
    EXPECT_LT(fit.residual_variance, 0.5 * fit.variance);
    EXPECT_NEAR(variance_of(moved), fit.residual_variance, 1e-4 * fit.variance);
    const CrfEvaluation one = evaluate_crf(before, data), two = evaluate_crf(after, data);
    EXPECT_NEAR(two.nll_exact, one.nll_exact, 1e-4);
    EXPECT_EQ(two.accuracy, one.accuracy);
    EXPECT_EQ(after.normalizer.exists, !transitions);
    EXPECT_NEAR(transitions ? two.log_z.mean : two.amortised.value().log_z.mean, 0, 1e-4);
    for (const uint64_t i : {0u, 5u, 17u}) {
      for_each_labelling(3, data.length(i), [&](const std::vector<uint32_t>& y) {
        EXPECT_NEAR(direct_score(after, data, i, y) - moved[i], direct_score(before, data, i, y) - log_z[i],
                    1e-4);
      });
    }
  }
}

// Shifts that are free bring back nothing: V* is that of the CRF without them.
TEST(CrfGauge, VStarDoesNotDependOnTheGauge) {
  const CrfPlan plan{.sentences = 300};
  const Sequences data = random_sequences(plan);
  CrfModel model = random_crf(plan);
  const auto v_star = [&] {
    return crf_gauge(data, model.shape, crf_log_z(model, data), CrfFeatures::all, CrfFitPurpose::fit)
        .residual_variance;
  };
  const double before = v_star();
  for (size_t k = 0; k < 3; ++k) model.theta[3 + k] += 2;
  for (size_t p = 0; p < 9; ++p) model.theta[model.shape.transition() + p] -= 1;
  EXPECT_NEAR(v_star(), before, 1e-4);
}

// More attributes than moments are kept of and than sentences there are, few of them frequent: what is fitted
// to some sentences holds for others, and that of sentences of one token, too.
TEST(CrfGauge, ManyRareAttributesAreNotOverfitted) {
  constexpr uint32_t kRare = 6000, kFrequent = 20, kLabels = 2;
  constexpr uint64_t kSentences = 900, kFitted = 700;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  CrfModel model;
  model.shape = {kLabels, kRare + kFrequent, 0, true};
  model.theta.assign(model.shape.size(), 0);
  for (size_t a = 0; a < model.shape.unigrams; ++a)
    for (size_t k = 0; k < kLabels; ++k)
      model.theta[a * kLabels + k] = static_cast<float>((a < kFrequent ? 1.0 : 0.05) * normal(random));
  for (size_t k = 0; k < kLabels; ++k) model.theta[model.shape.bias() + k] = 5;
  const auto sentences = [&](uint64_t count) {
    Sequences data;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t length = 1 + random() % 12;
      for (uint64_t t = 0; t < length; ++t) {
        data.unigram.attribute.push_back(static_cast<uint32_t>(random() % kFrequent));
        data.unigram.attribute.push_back(static_cast<uint32_t>(kFrequent + random() % kRare));
        data.unigram.begin.push_back(data.unigram.attribute.size());
        data.label.push_back(kNoLabel);
      }
      data.sentence_begin.push_back(data.label.size());
    }
    return data;
  };
  const Sequences fitted = sentences(kFitted), others = sentences(kSentences - kFitted);
  const LinearFit fit =
      crf_gauge(fitted, model.shape, crf_log_z(model, fitted), CrfFeatures::all, CrfFitPurpose::prediction);
  CrfModel after = model;
  apply_crf_gauge(fit, after);
  const auto rms = [&](const CrfModel& crf, uint64_t longest) {
    const std::vector<double> log_z = crf_log_z(crf, others);
    double sum = 0, count = 0;
    for (uint64_t i = 0; i < log_z.size(); ++i) {
      if (others.length(i) > longest) continue;
      sum += log_z[i] * log_z[i];
      ++count;
    }
    return std::sqrt(sum / count);
  };
  EXPECT_LT(rms(after, 12), 0.03 * rms(model, 12));
  EXPECT_LT(rms(after, 1), 0.1 * rms(model, 1));
}

// Scores that do not depend on the attributes but by free shifts: A is a function of T and counts, V* = 0.
TEST(CrfGauge, FreeScoresHaveNoVariance) {
  const CrfPlan plan{.sentences = 100, .has_transitions = false};
  const Sequences data = random_sequences(plan);
  CrfModel model = random_crf(plan);
  for (size_t a = 0; a < plan.unigrams; ++a)
    for (size_t k = 1; k < 3; ++k) model.theta[a * 3 + k] = model.theta[a * 3];
  const std::vector<double> log_z = crf_log_z(model, data);
  const LinearFit fit = crf_gauge(data, model.shape, log_z, CrfFeatures::unigrams, CrfFitPurpose::prediction);
  EXPECT_NEAR(fit.residual_variance, 0, 1e-9);
  EXPECT_GT(fit.variance, 0.1);
  model.normalizer = amortised_crf(fit);
  const CrfEvaluation found = evaluate_crf(model, data);
  ASSERT_TRUE(found.amortised);
  EXPECT_NEAR(found.amortised->log_z.rms, 0, 1e-4);
  EXPECT_NEAR(found.amortised->nll, found.nll_exact, 1e-4);
}

}  // namespace
}  // namespace selfnorm::test
