#include "regressor/regressor_evaluate.h"

#include <fmt/format.h>

#include "classifier/audit_report.h"
#include "classifier/score_kind.h"
#include "grammar/changed_options.h"
#include "grammar/option_list.h"
#include "math/parallel.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "regressor/regressor_model.h"
#include "regressor/regressor_pictures.h"
#include "regressor/regressor_report.h"
#include "run/progress_line.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

ConditionalQuadratureOptions quadrature_of(const Arguments& arguments) {
  ConditionalQuadratureOptions options;
  if (changed_options(arguments).contains("--precision")) options.precision = arguments.log_z.precision;
  options.validate();
  return options;
}

void refuse_foreign_options(const Arguments& arguments, const std::string& model) {
  refuse_options(arguments, class_options(), model + " is a regressor");
  refuse_options(arguments, {"--method", "--samples", "--seed", "--array", "--format"},
                 model + " is a regressor, whose A(x) comes by quadrature and whose tables are recognised");
}

RegressionEvaluation evaluated(const Regressor& model, const RegressionRows& rows,
                               const RegressionEvaluationOptions& options, bool quiet) {
  ProgressLine line(quiet);
  return evaluate_regressor(model, rows.inputs.view(), rows.target, options, [&](uint64_t done) {
    line.show({done, rows.inputs.rows, "rows evaluated"});
  });
}

void note_encoding(const Arguments& arguments, const EncodingReport& report) {
  if (arguments.common.quiet) return;
  for (const std::string& text : encoding_notes(report)) note(text);
}

// Validation rows choose nothing of an ensemble, whose members hold out rows of their own.
RowsPart part_in(const Regressor& model, RowsPart found) {
  return found == RowsPart::kChoseStep && model.members.size() > 1 ? RowsPart::kNone : found;
}

FrameOptions frame_options(const Arguments& arguments) {
  return {.ignored = listed_words(arguments.points.drop), .header = arguments.reader.header};
}

}  // namespace

int evaluate_regressors(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  refuse_foreign_options(arguments, given.models[0]);
  if (!given.feature.empty() && given.draw.empty())
    throw Error("--feature says along which column the pictures of --draw DIR are drawn; give that too");
  if (!given.draw.empty() && given.models.size() > 1)
    throw Error("--draw draws one model; evaluate them apart");
  const RegressionEvaluationOptions options{.quadrature = quadrature_of(arguments)};
  const ThreadLimit limit(arguments.common.threads);
  std::vector<RegressionRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const std::string& name : given.models) {
    const auto [path, model] = open_regressor(name, arguments.common.code());
    const Frame frame = read_frame_for(model, given.data, frame_options(arguments), TargetNeed::kRequired);
    const RegressionRows data = regression_rows(model, frame, TargetNeed::kRequired);
    if (!given.feature.empty()) check_feature(model, frame, given.feature);
    note_encoding(arguments, data.report);
    const RowsPart part = part_in(model, rows_part(name, given.data));
    rows.push_back({name, model.targets, evaluated(model, data, options, arguments.common.quiet), part});
    if (!arguments.common.quiet) warn_about_coverage(rows.back());
    nlohmann::ordered_json report = regression_json(rows.back().evaluation, model.targets, part);
    if (part == RowsPart::kTrained) report["trained"] = true;
    report["columns"] = encoding_json(data.report);
    report["normalizer"] = model.normalizer_kind;
    report["model"] = path;
    report["data"] = given.data;
    if (!given.draw.empty())
      report["pictures"] = draw_regressor({model, frame, data.inputs, data.target}, rows.back().evaluation,
                                          {given.draw, given.feature, arguments.common.quiet});
    reports.push_back(std::move(report));
  }
  if (arguments.common.json)
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
  else
    print(regression_tables(rows));
  return 0;
}

namespace {

ReportDocument audit_document(const std::string& path, const std::string& data) {
  return {.name = path, .command = "audit", .title = fmt::format("Audit of {} on {}", path, data)};
}

// Where the page goes, and the rows that it is about.
struct AuditedRows {
  AuditPlace place;
  RowsPart part;
  const ShownRows& rows;
};

void put_out(const Arguments& arguments, const AuditPlace& place, const ReportDocument& document,
             AuditWords words) {
  nlohmann::ordered_json json = {
      {"model", document.name}, {"data", arguments.audit.data}, {"kind", "amortised"}};
  json.update(words.json);
  put_out_audit(arguments, place, document, {std::move(json), std::move(words.text)});
}

// Data without targets.
int audit_inputs(const Arguments& arguments, const AuditOptions& options, const std::string& path,
                 const AuditedRows& audited) {
  const AuditArguments& given = arguments.audit;
  const ShownRows& rows = audited.rows;
  const NormalizerAudit result = audit_normalizer(rows.model, rows.inputs.view(), {.audit = options});
  ReportDocument document = audit_document(path, given.data);
  add_regression_inputs(rows, result, {given.data, audited.part}, document);
  AuditWords words{normalizer_audit_json(result),
                   fmt::format("b(x) of {} on {}: {} inputs without targets; log Z of each by quadrature\n\n",
                               path, given.data, grouped(result.rows)) +
                       normalizer_audit_text(result, audited.part)};
  add_part(audited.part, words.json);
  put_out(arguments, audited.place, document, std::move(words));
  return given.require.empty() || result.certificate.certified ? 0 : kNotCertified;
}

int audit_predictions(const Arguments& arguments, const RegressionEvaluation& result, const std::string& path,
                      const AuditedRows& audited) {
  const AuditArguments& given = arguments.audit;
  if (!arguments.common.quiet) warn_about_coverage({path, audited.rows.model.targets, result, audited.part});
  ReportDocument document = audit_document(path, given.data);
  add_regression(audited.rows, result, {given.data, audited.part}, document);
  AuditWords words{
      regression_audit_json(result),
      fmt::format("log-densities with b(x) of {} on {}: {} inputs; log Z of each by quadrature\n\n", path,
                  given.data, grouped(result.rows)) +
          regression_audit_text(result, audited.part)};
  add_part(audited.part, words.json);
  put_out(arguments, audited.place, document, std::move(words));
  return given.require.empty() || result.certificate.certified ? 0 : kNotCertified;
}

}  // namespace

int audit_regressor(const Arguments& arguments) {
  const AuditOptions options = audit_options(arguments.audit);
  const AuditArguments& given = arguments.audit;
  refuse_options(arguments,
                 {"--raw", "--states-name", "--format", "--target", "--weight-column", "--labels",
                  "--skip-bad", "--weight-name", "--bias-name"},
                 given.model + " is a regressor, whose log-densities with b(x) are audited");
  const AuditPlace place = audit_place(given);
  const auto [path, model] = open_regressor(given.model, arguments.common.code());
  const FrameOptions reading{.header = arguments.reader.header};
  const Frame frame = read_frame_for(model, given.data, reading, TargetNeed::kOptional);
  const bool has_targets = frame.find(model.targets[0]) != nullptr || model.members.size() > 1;
  const RegressionRows data =
      regression_rows(model, frame, has_targets ? TargetNeed::kRequired : TargetNeed::kOptional);
  note_encoding(arguments, data.report);
  const ShownRows rows{model, frame, data.inputs, data.target};
  const AuditedRows audited{place, part_in(model, audited_part(given)), rows};
  if (!has_targets) return audit_inputs(arguments, options, path, audited);
  const RegressionEvaluation result = evaluated(model, data, {.audit = options}, arguments.common.quiet);
  return audit_predictions(arguments, result, path, audited);
}

namespace {

double stored_rms(const Regressor& model) {
  const auto audit = nlohmann::ordered_json::parse(model.audit_json);
  return stored_number(audit, {model.members.size() > 1 ? "log_density_gap" : "b_minus_a", "rms"})
      .value_or(0);
}

}  // namespace

int score_regressor(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  refuse_foreign_options(arguments, given.model);
  check_kind_options(given);
  const bool is_exact = !given.raw && !given.amortised;
  if (!is_exact) refuse_options(arguments, {"--precision"}, "is of --exact");
  const ThreadLimit limit(arguments.common.threads);
  const Regressor model = open_regressor(given.model, arguments.common.code()).model;
  const Frame frame = read_frame_for(model, given.data, frame_options(arguments), TargetNeed::kRequired);
  const RegressionRows data = regression_rows(model, frame, TargetNeed::kRequired);
  note_encoding(arguments, data.report);
  if (!is_exact && !arguments.common.quiet) warn_about_rms(stored_rms(model), "amortised", "--exact");
  std::vector<double> log_density;
  if (is_exact) {
    PredictionOptions options{.quantiles = {}, .intervals = {}, .quadrature = quadrature_of(arguments)};
    predict(model, data.inputs.view(), data.target, options,
            [&](uint64_t, Prediction&& row) { log_density.push_back(row.log_density.value()); });
  } else {
    log_density = raw_log_density(model, data.inputs.view(), data.target);
  }
  const char* kind = is_exact ? "quadrature" : "amortised";
  const bool json = arguments.common.json;
  print(json ? fmt::format("{{\"kind\": \"{}\", \"rows\": [", kind)
             : fmt::format("# {}{}\n", kind, is_exact ? "" : ", " + model.normalizer_kind + " b(x)"));
  for (size_t i = 0; i < log_density.size(); ++i) {
    if (json)
      print((i == 0 ? "\n  " : ",\n  ") +
            nlohmann::ordered_json{{"row", frame.numbers[i]}, {"log_prob", log_density[i]}}.dump());
    else
      print(fmt::format("{}\t{}\t{}\n", frame.numbers[i], log_density[i], kind));
  }
  if (json) print("\n]}\n");
  return 0;
}

}  // namespace selfnorm::cli
