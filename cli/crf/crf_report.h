// A CrfEvaluation as JSON and as tables, for `evaluate` and for the end of `train crf`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "classifier/evaluation_report.h"
#include "family/crf/crf_evaluation.h"

namespace selfnorm::cli {

// Likelihoods and log Z are of a sentence unless they say "per_token"; "spans" only where labels are those of
// spans, "..._amortised" only where there is a b(x).
Json crf_json(const CrfEvaluation& evaluation);
// The part of it that needs no labels; `amortised` null: there is no b(x).
Json levels_json(const CrfLevels& raw, const CrfLevels* amortised);

// [{"shortest", "longest", "sentences", "mean", "rms", "rms_per_token"}], and a table of it.
Json lengths_json(const std::vector<LengthLevel>& levels);
std::string lengths_text(const std::vector<LengthLevel>& levels, const std::string& level = "log Z");
// "4..7"
std::string length_words(const LengthLevel& level);

// What the log-probability of a given labelling costs.
struct CrfTiming {
  ScoreTiming score;  // of a sentence, prepared attributes to log-probability
  double tokens = 0;  // of a sentence, on average
  std::vector<std::pair<std::string, double>> nearest_ns;  // by rung
};

struct CrfRow {
  std::string name;
  CrfEvaluation evaluation;
  std::optional<CrfTiming> timing;
};

// One line per model.
std::string crf_table(const std::vector<CrfRow>& rows);
// One line per model that has been timed.
std::string timing_table(const std::vector<CrfRow>& rows);
Json timing_json(const CrfTiming& timing);
// Spans by type, log Z of a sentence and of a token, and by length.
std::string crf_details(const CrfEvaluation& evaluation);

}  // namespace selfnorm::cli
