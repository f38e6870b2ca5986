// e(x) = A(x) - b(x) of a regressor of one member, audited like any log-normalizer (analysis/error_audit.h):
// it is a matter of the inputs, and needs no targets. That of an ensemble depends on the target:
// analysis/regression_evaluation.h.
#pragma once

#include <functional>

#include "family/regressor/regression_evaluation.h"

namespace selfnorm {

struct NormalizerAudit : ErrorAudit {
  uint64_t rows = 0;
  double quadrature_error = 0;  // largest error of A
  uint64_t imprecise = 0;       // rows whose error of A is larger than the precision asked for
};

// In blocks of rows; `progress` is told how many are done. Throws Error for an ensemble and data without
// rows.
NormalizerAudit audit_normalizer(const Regressor& model, const InputRows& x,
                                 const RegressionEvaluationOptions& options,
                                 const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
