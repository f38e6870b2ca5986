#include "crf/crf_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "classifier/audit_report.h"
#include "classifier/evaluation_report.h"
#include "crf/crf_model.h"
#include "crf/crf_report.h"
#include "crf/crf_timing.h"
#include "family/crf/crf_audit.h"
#include "family/crf/crf_section.h"
#include "grammar/changed_options.h"
#include "output.h"
#include "run/progress_line.h"
#include "run/reading_note.h"
#include "run/report_output.h"

namespace selfnorm::cli {
namespace {

void refuse_others(const Arguments& arguments, const std::string& model) {
  std::vector<std::string> of_classes = class_options();
  std::erase(of_classes, "--timing");
  for (const auto& options : {of_classes, density_options(), regressor_options()})
    refuse_options(arguments, options, model + " is a chain, to which it does not apply");
  refuse_options(arguments, {"--header"}, model + " is a chain, whose DATA have no header");
}

CrfAudit audited(const CrfModel& model, const Sequences& data, const AuditOptions& options, bool quiet) {
  ProgressLine line(quiet);
  return audit_crf(model, data, options, [&](uint64_t done) {
    line.show({done, data.sentences(), "sentences audited"});
  });
}

}  // namespace

int evaluate_crfs(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  refuse_others(arguments, given.models[0]);
  std::vector<CrfRow> rows;
  bool has_unseen = false;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const std::string& name : given.models) {
    const auto [path, model] = open_crf(name, arguments.reader.format);
    const Sequences data = read_sequences(given.data, model.encoder, true, UnseenLabel::kept);
    if (!std::exchange(has_unseen, has_unseen || data.unseen.tokens > 0)) note_unseen(given.data, data);
    rows.push_back({name, evaluate_crf(model, data, arguments.common.threads), {}});
    nlohmann::ordered_json report = crf_json(rows.back().evaluation);
    if (given.timing) {
      rows.back().timing = time_crf(model, data);
      report.update(timing_json(*rows.back().timing));
    }
    report["model"] = path;
    report["data"] = given.data;
    reports.push_back(std::move(report));
  }
  if (arguments.common.json) {
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
    return 0;
  }
  print(crf_table(rows));
  if (rows.size() == 1) print(crf_details(rows[0].evaluation));
  if (given.timing) print("\n" + timing_table(rows));
  return 0;
}

int audit_crf_command(const Arguments& arguments) {
  const AuditArguments& given = arguments.audit;
  AuditOptions options = audit_options(given);
  refuse_others(arguments, given.model);
  refuse_options(arguments, {"--states-name"}, given.model + " is a chain, which has no states");
  const AuditPlace place = audit_place(given);
  const auto [path, model] = open_crf(given.model, arguments.reader.format);
  const Sequences data = read_sequences(given.data, model.encoder, false, UnseenLabel::kept);
  note_unseen(given.data, data);
  options.amortised = model.normalizer.exists && !given.raw;
  const std::string kind = options.amortised ? "amortised" : "raw",
                    level = options.amortised ? "log Z - b" : "log Z";
  const CrfAudit errors = audited(model, data, options, arguments.common.quiet);
  const bool has_labels = std::find(data.label.begin(), data.label.end(), kNoLabel) == data.label.end();
  std::optional<CrfEvaluation> evaluation;
  if (has_labels) evaluation = evaluate_crf(model, data, arguments.common.threads);
  const RowsPart part = audited_part(given);
  ReportDocument document{
      .name = path, .command = "audit", .title = fmt::format("Audit of {} on {}", path, given.data)};
  add_crf({model, errors, evaluation ? &*evaluation : nullptr, kind, given.data, part}, document);
  AuditWords words{.json = {{"model", path},
                            {"data", given.data},
                            {"kind", kind},
                            {"n", data.sentences()},
                            {"tokens", data.positions()}},
                   .text = fmt::format("{} scores of {} on {}: {} sentences; log Z of each by the forward "
                                       "recursion\n\n{}\n",
                                       kind, path, given.data, grouped(data.sentences()), level)};
  words.json.update(errors_json(errors));
  words.json["log_z_per_token"] = log_z_json(errors.log_z_per_token);
  words.json["by_length"] = lengths_json(errors.by_length);
  words.json.update(variance_json(errors));
  words.text += errors_text(errors, part) + log_z_line(errors.log_z_per_token, "  a token") + "\n" +
                lengths_text(errors.by_length, level) + "\n" + variance_text(errors);
  if (evaluation) {
    words.json["evaluation"] = crf_json(*evaluation);
    words.text +=
        fmt::format("likelihood   NLL of a sentence exact {:.4f}, {} {:.4f}{}\n", evaluation->nll_exact, kind,
                    options.amortised ? evaluation->amortised->nll : evaluation->nll_raw,
                    unseen_words(evaluation->unseen));
  }
  words.json.update(certified_json(errors));
  words.text += certified_text(errors, kind, part);
  add_part(part, words.json);
  put_out_audit(arguments, place, document, std::move(words));
  return given.require.empty() || errors.certificate.certified ? 0 : kNotCertified;
}

}  // namespace selfnorm::cli
