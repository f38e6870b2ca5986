#include <fmt/format.h>

#include "classifier/evaluation_report.h"
#include "classifier/model_header.h"
#include "classifier/runtime_model.h"
#include "classifier/timed_calls.h"
#include "commands.h"
#include "family.h"
#include "output.h"
#include "run/reading_note.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

ScoreTiming timing_of(const RuntimeModel& model, const Dataset& data) {
  const auto time = [&](selfnorm_kind kind) {
    double sink = 0;
    if (!data.is_joint()) {
      return nanoseconds(std::min(kTimedRows, data.examples()), [&](uint64_t row) {
        const uint32_t y = data.target[row] == Dataset::kUnseenTarget ? 0 : data.target[row];
        model.score(data.features, row, std::span(&y, 1), kind, std::span(&sink, 1));
      });
    }
    // Raw needs the one alternative, exact its whole group.
    return nanoseconds(std::min(kTimedRows, data.examples()), [&](uint64_t group) {
      const uint64_t begin = data.group_begin[group];
      const uint64_t end = kind == SELFNORM_RAW ? begin + 1 : data.group_begin[group + 1];
      sink = model.alternatives(data.features, begin, end, kind)[0].log_prob;
    });
  };
  return {.raw_ns = time(SELFNORM_RAW),
          .exact_ns = time(SELFNORM_EXACT),
          .amortised_ns = model.has_normalizer() ? std::optional(time(SELFNORM_AMORTISED)) : std::nullopt};
}

}  // namespace

int evaluate_command(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  if (given.data == "-" && given.models.size() > 1)
    throw Error("standard input can be read only once, so for one model; store the data in a file");
  return run_for_family(arguments, given.models);
}

int evaluate_classifiers(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  std::vector<EvaluationRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  ReadReport reading;
  if (given.limit > 0)
    throw Error("--limit is for language models; a classifier is evaluated on all of DATA");
  ReadOptions options = arguments.reader.options;
  options.keep_unseen = true;
  for (const std::string& name : given.models) {
    const ModelHeader header = read_header(name, arguments.head);
    const ModelFile model = load_model(header);
    const ReadResult read = read_for(header, given.data, options);
    if (rows.empty()) reading = read.report;
    if (reading.unseen.examples == 0) reading.unseen = read.report.unseen;
    EvaluationRow row{name, evaluate(model, read.data, arguments.common.threads), {}};
    if (given.timing) row.timing = timing_of(RuntimeModel(header), read.data);

    nlohmann::ordered_json report = evaluation_json(row.evaluation, header.log_normalizer);
    report["bad_rows"] = read.report.bad.size();
    if (row.timing) {
      report["score_ns_raw"] = row.timing->raw_ns;
      report["score_ns_exact"] = row.timing->exact_ns;
      if (row.timing->amortised_ns) report["score_ns_amortised"] = *row.timing->amortised_ns;
    }
    report["model"] = header.path;
    report["data"] = given.data;
    reports.push_back(std::move(report));
    rows.push_back(std::move(row));
  }
  note_bad_rows(given.data, reading);
  note_unseen(given.data, reading.unseen);
  if (arguments.common.json) {
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
    return 0;
  }
  print(evaluation_table(rows));
  if (rows.size() > 1) return 0;
  const Evaluation& only = rows[0].evaluation;
  print(log_z_line(only.log_z));
  if (only.amortised) print(log_z_line(only.amortised->log_z, "log Z - c - b"));
  return 0;
}

}  // namespace selfnorm::cli
