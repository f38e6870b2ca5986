// A RegressionEvaluation as JSON and as tables, for `evaluate` and for the end of `train regressor`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "selfnorm/analysis/regression_evaluation.h"

namespace selfnorm::cli {

// crps, rmse, mae, pit and coverage of one target are beside nll; of several in "targets", one object each.
// Numbers that are not finite become null when written.
nlohmann::ordered_json regression_json(const RegressionEvaluation& evaluation,
                                       const std::vector<std::string>& targets);

struct RegressionRow {
  std::string name;
  std::vector<std::string> targets;
  RegressionEvaluation evaluation;
};

// Likelihoods and b - A, a line a model; predictions, a line a model and target; certificates.
std::string regression_tables(const std::vector<RegressionRow>& rows);

// The error of log-densities with b(x), in full.
nlohmann::ordered_json regression_audit_json(const RegressionEvaluation& evaluation);
std::string regression_audit_text(const RegressionEvaluation& evaluation);

}  // namespace selfnorm::cli
