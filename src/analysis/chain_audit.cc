#include "selfnorm/analysis/chain_audit.h"

#include "selfnorm/analysis/chain_evaluation.h"

namespace selfnorm {

ErrorAudit audit_chain(const ChainModel& model, const Sequences& data, const AuditOptions& options) {
  ErrorAuditor auditor(options);
  const std::vector<double> log_z = chain_log_z(model, data);
  for (uint64_t i = 0; i < log_z.size(); ++i)
    auditor.add(i, log_z[i] - (options.amortised ? chain_normalizer(model.normalizer, data, i) : 0));
  return auditor.finish();
}

}  // namespace selfnorm
