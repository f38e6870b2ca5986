// A RegressionEvaluation as JSON and as tables, for `evaluate` and for the end of `train regressor`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "family/regressor/regression_evaluation.h"
#include "family/regressor/regression_pictures.h"
#include "run/report_output.h"

namespace selfnorm::cli {

// crps, rmse, mae, pit and coverage of one target are beside nll; of several in "targets", one object each.
// "outside" counts targets outside the support, "zero_density" those inside it whose density is 0; either
// makes nll infinite. The audited error, log p exact minus log p with b, is b - A of a model of one member,
// "b_minus_a"; of an ensemble it is that of the log mean density at the target, "log_density_gap". Rows that
// were trained on have no "certificate"; "chose_step": RowsPart::kChoseStep. Numbers that are not finite
// become null when written.
Json regression_json(const RegressionEvaluation& evaluation, const std::vector<std::string>& targets,
                     RowsPart part = RowsPart::kNone);

struct RegressionRow {
  std::string name;
  std::vector<std::string> targets;
  RegressionEvaluation evaluation;
  RowsPart part = RowsPart::kNone;
};

// Likelihoods and b - A (ensembles: the gap above), a line a model; predictions, a line a model and target;
// certificates.
std::string regression_tables(const std::vector<RegressionRow>& rows);

// On stderr, when targets that took no part in training are inside central intervals too rarely or too often.
void warn_about_coverage(const RegressionRow& row);

// The error of log-densities with b(x), in full; of data without targets, that of b(x).
AuditWords regression_audit_words(const RegressionEvaluation& evaluation, RowsPart part);
AuditWords regression_audit_words(const NormalizerAudit& audit, RowsPart part);

}  // namespace selfnorm::cli
