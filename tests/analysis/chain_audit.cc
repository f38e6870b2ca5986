#include "selfnorm/analysis/chain_audit.h"

#include <gtest/gtest.h>

#include "selfnorm/base/error.h"
#include "small_chains.h"

namespace selfnorm {
namespace {

TEST(ChainAudit, ErrorsAreEnumeratedLogNormalizers) {
  const test::ChainPlan plan;
  ChainModel model = test::random_chain(plan);
  model.normalizer = {.exists = true, .per_position = 0.5, .per_sentence = 0.25, .slope = {}};
  const Sequences data = test::random_sequences(plan);
  double raw = 0, amortised = 0;
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const double a = test::enumerated_log_z(model, data, i);
    raw += a / static_cast<double>(data.sentences());
    amortised +=
        (a - 0.25 - 0.5 * static_cast<double>(data.length(i))) / static_cast<double>(data.sentences());
  }
  EXPECT_NEAR(audit_chain(model, data, {}).log_z.mean, raw, 1e-4);
  const ErrorAudit audit = audit_chain(model, data, {.amortised = true});
  EXPECT_NEAR(audit.log_z.mean, amortised, 1e-4);
  EXPECT_EQ(audit.certificate.n, data.sentences());
  EXPECT_THROW(audit_chain(model, data, {.eps = -1}), Error);
}

}  // namespace
}  // namespace selfnorm
