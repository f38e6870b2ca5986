#include "family/crf/crf_audit.h"

#include "family/crf/crf_gauge.h"

namespace selfnorm {

CrfAudit audit_crf(const CrfModel& model, const Sequences& data, const AuditOptions& options,
                   const std::function<void(uint64_t)>& progress) {
  ErrorAuditor auditor(options);
  const std::vector<double> log_z = crf_log_z(model, data, 0, progress);
  std::vector<double> error = log_z;
  RunningVariance moments;
  for (uint64_t i = 0; i < log_z.size(); ++i) {
    if (options.amortised) error[i] -= crf_normalizer(model.normalizer, data, i);
    auditor.add(i, error[i]);
    moments.add(log_z[i]);
  }
  CrfAudit out;
  static_cast<ErrorAudit&>(out) = auditor.finish();
  out.sentences = data.sentences();
  out.tokens = data.positions();
  CrfLevels levels = crf_levels(data, std::move(error));
  out.log_z_per_token = levels.log_z_per_token;
  out.by_length = std::move(levels.by_length);
  out.variance = moments.variance();
  if (options.with_v_star)
    static_cast<GaugeVariance&>(out) = gauge_variance(
        out.variance, crf_gauge(data, model.shape, log_z, CrfFeatures::all, CrfFitPurpose::fit),
        out.sentences);
  return out;
}

}  // namespace selfnorm
