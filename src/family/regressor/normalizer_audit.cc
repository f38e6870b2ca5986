#include "family/regressor/normalizer_audit.h"

#include <fmt/format.h>

#include <algorithm>

#include "selfnorm/error.h"

namespace selfnorm {

NormalizerAudit audit_normalizer(const Regressor& model, const InputRows& x,
                                 const RegressionEvaluationOptions& options,
                                 const std::function<void(uint64_t)>& progress) {
  if (model.members.size() > 1)
    throw Error(
        fmt::format("the error of b(x) of an ensemble of {} members depends on the target; expected data "
                    "with it, or a model of one member",
                    model.members.size()));
  if (x.rows() == 0) throw Error("the data has no rows; expected at least one");
  ErrorAuditor errors(options.audit);
  NormalizerAudit out;
  const uint64_t block = rows_at_once(model.dimension());
  for (uint64_t begin = 0; begin < x.rows(); begin += block) {
    const uint64_t end = std::min(x.rows(), begin + block);
    const auto scores = prepare_scores(model, 0, x.slice(begin, end));
    ConditionalQuadratureOptions quadrature = options.quadrature;
    quadrature.first_row += begin;
    const std::vector<ConditionalLogZ> log_z = conditional_log_z(*scores, quadrature);
    for (uint64_t i = 0; i < log_z.size(); ++i) {
      errors.add(begin + i, log_z[i].value - scores->normalizer(i), log_z[i].error);
      out.quadrature_error = std::max(out.quadrature_error, log_z[i].error);
      out.imprecise += log_z[i].error > quadrature.precision ? 1 : 0;
    }
    if (progress) progress(end);
  }
  static_cast<ErrorAudit&>(out) = errors.finish();
  out.rows = x.rows();
  return out;
}

}  // namespace selfnorm
