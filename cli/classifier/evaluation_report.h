// An Evaluation and a LanguageEvaluation as JSON and as a row of a table, for `evaluate` and for the audit at
// the end of training; what `evaluate` does for every family.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audit/evaluation.h"
#include "classifier/model_header.h"
#include "family/lm/lm_evaluation.h"
#include "grammar/arguments.h"
#include "output.h"

namespace selfnorm::cli {

struct ScoreTiming {
  double raw_ns = 0;                   // one candidate, a dot product
  double exact_ns = 0;                 // one candidate, every class enumerated
  std::optional<double> amortised_ns;  // one candidate and b(x), where the model has one
};

// "score_ns_raw", ...
Json timing_json(const ScoreTiming& timing);
Json log_z_json(const LogZStatistics& statistics);
// The number of unseen labels, and the likelihood with them, for which JSON has no number; nothing for 0.
void add_unseen(uint64_t unseen, Json& to);
Json evaluation_json(const Evaluation& evaluation, double log_normalizer);

struct EvaluationRow {
  std::string name;
  Evaluation evaluation;
  std::optional<ScoreTiming> timing;
};

// One line per model; every column says whether it used raw scores or the exact log-normalizer.
std::string evaluation_table(const std::vector<EvaluationRow>& rows);

// "NAME: mean ... std ... range ..." for one model.
std::string log_z_line(const LogZStatistics& statistics, const std::string& name = "log Z - c");

// Words scored in a second, one after the other on one thread.
struct WordRate {
  double raw = 0;                   // with pre-computation
  double exact = 0;                 // every word of the vocabulary enumerated
  std::optional<double> amortised;  // with pre-computation and b(h), where the model has one
};

Json language_json(const LanguageEvaluation& evaluation, double log_normalizer);
Json rate_json(const WordRate& rate);

struct LanguageRow {
  std::string name;
  LanguageEvaluation evaluation;
  std::optional<WordRate> rate;
};

std::string language_table(const std::vector<LanguageRow>& rows);
// The distribution of log Z of one model.
std::string language_lines(const LanguageEvaluation& evaluation);

// `evaluate` of models of one family: one(name) gives what --json prints of a model and its row, text(rows)
// what is printed otherwise.
template <typename One, typename Text>
int evaluate_models(const Arguments& arguments, One one, Text text) {
  const EvaluateArguments& given = arguments.evaluate;
  std::vector<typename decltype(one(given.data))::second_type> rows;
  Json reports = Json::array();
  for (const std::string& name : given.models) {
    auto [report, row] = one(name);
    report["model"] = finished_model_path(name);
    report["data"] = given.data;
    reports.push_back(std::move(report));
    rows.push_back(std::move(row));
  }
  if (arguments.common.json)
    print_json(reports.size() == 1 ? reports[0] : Json{{"models", reports}});
  else
    print(text(rows));
  return 0;
}

inline constexpr uint64_t kTimedRows = 1000;  // at most

// For --timing: nanoseconds per call of pass(row), over rounds of all rows for a fifth of a second, after one
// that warms.
template <typename Pass>
double nanoseconds(uint64_t rows, Pass pass) {
  using Clock = std::chrono::steady_clock;
  constexpr double kTimedSeconds = 0.2;
  for (uint64_t row = 0; row < rows; ++row) pass(row);
  uint64_t calls = 0;
  std::chrono::duration<double> spent{};
  for (const auto start = Clock::now(); spent.count() < kTimedSeconds; spent = Clock::now() - start) {
    for (uint64_t row = 0; row < rows; ++row) pass(row);
    calls += rows;
  }
  return spent.count() * 1e9 / static_cast<double>(calls);
}

}  // namespace selfnorm::cli
