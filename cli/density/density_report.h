// A DensityEvaluation as JSON and as a row of a table, for `evaluate` and for the end of `train density`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "family/density/density_evaluation.h"

namespace selfnorm::cli {

nlohmann::ordered_json log_z_json(const LogZEstimate& estimate);
// Likelihoods that are not to be trusted are null.
nlohmann::ordered_json density_json(const DensityEvaluation& evaluation);

struct DensityRow {
  std::string name;
  DensityEvaluation evaluation;
  std::string normalizer_doubt;  // of cli/density/density_model.h
};

// One line per model, and a line why for every number of it that is not trusted.
std::string density_table(const std::vector<DensityRow>& rows);

}  // namespace selfnorm::cli
