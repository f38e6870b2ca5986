// A LanguageEvaluation as JSON and as a row of a table, for `evaluate` and for the audit at the end of `train
// lm`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "family/lm/lm_evaluation.h"

namespace selfnorm::cli {

// Words scored in a second, one after the other on one thread.
struct WordRate {
  double raw = 0;                   // with pre-computation
  double exact = 0;                 // every word of the vocabulary enumerated
  std::optional<double> amortised;  // with pre-computation and b(h), where the model has one
};

nlohmann::ordered_json language_json(const LanguageEvaluation& evaluation, double log_normalizer);
nlohmann::ordered_json rate_json(const WordRate& rate);

struct LanguageRow {
  std::string name;
  LanguageEvaluation evaluation;
  std::optional<WordRate> rate;
};

std::string language_table(const std::vector<LanguageRow>& rows);
// The distribution of log Z of one model.
std::string language_lines(const LanguageEvaluation& evaluation);

}  // namespace selfnorm::cli
