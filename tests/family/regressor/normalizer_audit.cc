#include <gtest/gtest.h>

#include "family/regressor/regression_evaluation.h"
#include "selfnorm/error.h"
#include "small_regressors.h"

namespace selfnorm {
namespace {

using namespace test;

EncodedFrame encoded(const Regressor& model, uint64_t rows) {
  EncodingReport report;
  return model.encoder.encode(small_frame(rows), report);
}

// What an evaluation with targets says of e, without them.
TEST(NormalizerAudit, IsThatOfAnEvaluation) {
  const Regressor model = random_regressor({});
  const EncodedFrame x = encoded(model, 300);
  const std::vector<double> y(300, model.target_mean[0]);
  const RegressionEvaluation evaluation = evaluate_regressor(model, x.view(), y, {});
  const NormalizerAudit audit = audit_normalizer(model, x.view(), {});
  EXPECT_EQ(audit.rows, 300u);
  EXPECT_NEAR(audit.log_z.mean, evaluation.log_z.mean, 1e-9);
  EXPECT_NEAR(audit.log_z.rms, evaluation.log_z.rms, 1e-9);
  EXPECT_GT(audit.log_z.rms, 0);
  EXPECT_EQ(audit.certificate.exceed, evaluation.certificate.exceed);
  EXPECT_EQ(audit.worst[0].example, evaluation.worst[0].example);
  EXPECT_EQ(audit.quadrature_error, evaluation.quadrature_error);
}

TEST(NormalizerAudit, EnsemblesAndNoRowsAreRefused) {
  const Regressor one = random_regressor({});
  const Regressor two = random_regressor({.members = 2});
  const EncodedFrame x = encoded(two, 3), none = encoded(one, 0);
  EXPECT_THROW(audit_normalizer(two, x.view(), {}), Error);
  EXPECT_THROW(audit_normalizer(one, none.view(), {}), Error);
}

}  // namespace
}  // namespace selfnorm
