// A ChainEvaluation as JSON and as tables, for `evaluate` and for the end of `train crf`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "selfnorm/analysis/chain_evaluation.h"

namespace selfnorm::cli {

// Likelihoods and log Z are of a sentence unless they say "per_token"; "spans" only where labels are those of
// spans.
nlohmann::ordered_json chain_json(const ChainEvaluation& evaluation);

struct ChainRow {
  std::string name;
  ChainEvaluation evaluation;
};

// One line per model.
std::string chain_table(const std::vector<ChainRow>& rows);
// Spans by type, log Z of a sentence and of a token, and by length.
std::string chain_details(const ChainEvaluation& evaluation);

}  // namespace selfnorm::cli
