#include <gtest/gtest.h>

#include "family/crf/crf_evaluation.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm {
namespace {

TEST(CrfAudit, ErrorsAreEnumeratedLogNormalizers) {
  const test::CrfPlan plan;
  CrfModel model = test::random_crf(plan);
  model.normalizer = {.exists = true, .per_position = 0.5, .per_sentence = 0.25, .slope = {}};
  const Sequences data = test::random_sequences(plan);
  double raw = 0, amortised = 0;
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const double a = test::enumerated_log_z(model, data, i);
    raw += a / static_cast<double>(data.sentences());
    amortised +=
        (a - 0.25 - 0.5 * static_cast<double>(data.length(i))) / static_cast<double>(data.sentences());
  }
  EXPECT_NEAR(audit_crf(model, data, {}).log_z.mean, raw, 1e-4);
  const CrfAudit audit = audit_crf(model, data, {.amortised = true});
  EXPECT_NEAR(audit.log_z.mean, amortised, 1e-4);
  EXPECT_EQ(audit.certificate.n, data.sentences());
  EXPECT_THROW(audit_crf(model, data, {.eps = -1}), Error);
}

TEST(CrfAudit, ATokenAndByLength) {
  const test::CrfPlan plan;
  const CrfModel model = test::random_crf(plan);
  Sequences data = test::random_sequences(plan);
  const CrfEvaluation evaluation = evaluate_crf(model, data);
  data.label.assign(data.label.size(), kNoLabel);
  std::vector<uint64_t> told;
  const CrfAudit audit = audit_crf(model, data, {}, [&](uint64_t done) { told.push_back(done); });
  EXPECT_EQ(told, std::vector<uint64_t>{20});
  EXPECT_EQ(audit.sentences, 20u);
  EXPECT_EQ(audit.tokens, data.positions());
  EXPECT_EQ(audit.log_z_per_token.rms, evaluation.log_z_per_token.rms);
  ASSERT_EQ(audit.by_length.size(), evaluation.by_length.size());
  for (size_t i = 0; i < audit.by_length.size(); ++i) {
    EXPECT_EQ(audit.by_length[i].sentences, evaluation.by_length[i].sentences);
    EXPECT_EQ(audit.by_length[i].rms_per_token, evaluation.by_length[i].rms_per_token);
  }
}

TEST(CrfAudit, VStarIsThatOfTheGauge) {
  const test::CrfPlan plan{.sentences = 200};
  CrfModel model = test::random_crf(plan);
  const Sequences data = test::random_sequences(plan);
  const CrfAudit raw = audit_crf(model, data, {});
  EXPECT_LT(raw.v_star.value(), raw.variance);
  EXPECT_NEAR(raw.v_star_adjusted.value(), *raw.v_star * 200 / (200 - 1 - 9), 1e-9);
  EXPECT_FALSE(audit_crf(model, data, {.with_v_star = false}).v_star);
  // b moves errors, and neither A nor V*.
  model.normalizer = {.exists = true, .per_position = 0.5, .per_sentence = 0.25, .slope = {}};
  const CrfAudit amortised = audit_crf(model, data, {.amortised = true});
  EXPECT_EQ(amortised.variance, raw.variance);
  EXPECT_EQ(amortised.v_star, raw.v_star);
  // Fewer sentences than directions.
  const test::CrfPlan few{.sentences = 5};
  EXPECT_FALSE(audit_crf(model, test::random_sequences(few), {}).v_star_adjusted);
}

}  // namespace
}  // namespace selfnorm
