// The errors of log-probabilities of labellings that a chain gives without normalising (error_audit.h), a
// sentence an input: e(x) = A(x) of raw scores, A(x) - b(x) of amortised ones.
#pragma once

#include "selfnorm/analysis/error_audit.h"
#include "selfnorm/data/sequence/sequences.h"
#include "selfnorm/model/chain/chain_model.h"

namespace selfnorm {

// Labels are not needed. Throws Error for options out of range and data that do not fit the model.
ErrorAudit audit_chain(const ChainModel& model, const Sequences& data, const AuditOptions& options);

}  // namespace selfnorm
