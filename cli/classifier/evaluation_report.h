// An Evaluation as JSON and as a row of a table, for `evaluate` and for the audit at the end of training.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audit/evaluation.h"

namespace selfnorm::cli {

struct ScoreTiming {
  double raw_ns = 0;                   // one candidate, a dot product
  double exact_ns = 0;                 // one candidate, every class enumerated
  std::optional<double> amortised_ns;  // one candidate and b(x), where the model has one
};

nlohmann::ordered_json log_z_json(const LogZStatistics& statistics);
// The number of unseen labels, and the likelihood with them, for which JSON has no number; nothing for 0.
void add_unseen(uint64_t unseen, nlohmann::ordered_json& to);
nlohmann::ordered_json evaluation_json(const Evaluation& evaluation, double log_normalizer);

struct EvaluationRow {
  std::string name;
  Evaluation evaluation;
  std::optional<ScoreTiming> timing;
};

// One line per model; every column says whether it used raw scores or the exact log-normalizer.
std::string evaluation_table(const std::vector<EvaluationRow>& rows);

// "NAME: mean ... std ... range ..." for one model.
std::string log_z_line(const LogZStatistics& statistics, const std::string& name = "log Z - c");

}  // namespace selfnorm::cli
