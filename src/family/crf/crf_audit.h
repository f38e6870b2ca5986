// The errors of log-probabilities of labellings that a CRF gives without normalising (error_audit.h), a
// sentence an input: e(x) = A(x) of raw scores, A(x) - b(x) of amortised ones; the same a token and by
// length, for A grows with T; and V* of the free directions of a CRF (crf_gauge.h).
#pragma once

#include <functional>
#include <vector>

#include "audit/error_audit.h"
#include "audit/gauge.h"
#include "data/sentences/sequences.h"
#include "family/crf/crf_evaluation.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

struct CrfAudit : ErrorAudit, GaugeVariance {
  uint64_t sentences = 0, tokens = 0;
  LogZStatistics log_z_per_token;      // of e / T
  std::vector<LengthLevel> by_length;  // of e
};

// Labels are not needed. `progress` is told how many sentences are done. Throws Error for options out of
// range and data that do not fit the model.
CrfAudit audit_crf(const CrfModel& model, const Sequences& data, const AuditOptions& options,
                   const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
