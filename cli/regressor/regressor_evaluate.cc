#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "classifier/audit_report.h"
#include "classifier/evaluation_report.h"
#include "commands.h"
#include "document/figure.h"
#include "family/regressor/regression_pictures.h"
#include "model/stored_record.h"
#include "regressor/regressor_data.h"
#include "regressor/regressor_report.h"
#include "run/progress_line.h"
#include "run/run_record.h"
#include "selfnorm/runtime/shortened.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

ConditionalQuadratureOptions quadrature_of(const Arguments& arguments) {
  ConditionalQuadratureOptions options;
  if (arguments.has("--precision")) options.precision = arguments.log_z.precision;
  options.validate();
  return options;
}

RegressionEvaluation evaluated(const Regressor& model, const RegressionRows& rows,
                               const RegressionEvaluationOptions& options, bool quiet) {
  ProgressLine line(quiet);
  RegressionEvaluationOptions own = options;
  own.high = rows.high;
  return evaluate_regressor(model, rows.inputs.view(), rows.target, own, [&](uint64_t done) {
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
  return {.ignored = arguments.points.drop, .header = arguments.reader.header};
}

// Throws Error unless `feature` is a numeric column of the model with two values or more.
void check_feature(const Regressor& model, const Frame& frame, const std::string& feature) {
  const std::vector<std::string> columns = model.encoder.columns();
  if (std::ranges::find(columns, feature) == columns.end())
    throw_error("--feature {}: the model has no such column; its columns are {}", feature,
                runtime::shortened(fmt::format("{}", fmt::join(columns, ", "))));
  const FrameColumn& column = *frame.find(feature);
  if (!column.is_numeric) throw_error("--feature {}: the column is categorical, expected numbers", feature);
  const std::vector<double> sorted = sorted_numbers(column.number);
  if (sorted.empty() || sorted.front() == sorted.back())
    throw_error("--feature {}: found fewer than two values in {}", feature, frame.file);
}

// Pictures of a regressor on data, into the folder --draw, which is created: pit, coverage, normalizer (b
// against A), fan (quantiles of rows in the order of their median) and, with --feature, what
// family/regressor/regression_pictures.h has; of each NAME.svg, the program NAME.gp that draws it, and
// NAME.csv with its numbers. The paths of the data and of what was drawn; where gnuplot could not, data and
// programs are there.
std::vector<std::string> draw_regressor(const Arguments& arguments, const ShownRows& rows,
                                        const RegressionEvaluation& evaluation) {
  const EvaluateArguments& given = arguments.evaluate;
  std::vector<Picture> pictures{pit_picture(evaluation), coverage_picture(evaluation),
                                normalizer_picture(evaluated_pairs(evaluation)), fan_picture(rows)};
  if (!given.feature.empty())
    for (Picture& picture : feature_pictures(rows, given.feature)) pictures.push_back(std::move(picture));
  std::error_code failure;
  std::filesystem::create_directories(given.draw, failure);
  if (failure) throw_error("--draw {}: the folder cannot be created ({})", given.draw, failure.message());
  std::vector<std::string> files;
  std::string problem;
  for (const Picture& picture : pictures) {
    const std::string base = given.draw + "/" + picture.name;
    AtomicFile::write_file(base + ".csv", csv_text(picture.data));
    files.push_back(base + ".csv");
    if (picture.figure.panels.empty()) continue;
    if (const std::string found = draw_figure(picture.figure, given.draw, picture.name); found.empty())
      files.push_back(base + ".svg");
    else
      problem = found;
  }
  if (!problem.empty()) warning(problem);
  return files;
}

// Of training; of older files none.
std::vector<runtime::Rung> stored_rungs(const Regressor& model, const std::string& file) {
  const Json audit = Json::parse(model.audit_json, nullptr, false);
  if (!audit.is_object() || !audit.contains("ladder")) return {};
  auto rungs = with_plain_errors([&] { return runtime::parse_rungs(audit["ladder"].dump(), file).rungs; });
  for (const runtime::Rung& rung : rungs)
    if (rung.name != "amortised")
      throw_error(
          "{}: found the rung '{}' in the audit record of a regressor, expected amortised; train it again",
          file, rung.name);
  return rungs;
}

double stored_rms(const Regressor& model) {
  const auto audit = Json::parse(model.audit_json);
  return stored_number(audit, {model.members.size() > 1 ? "log_density_gap" : "b_minus_a", "rms"})
      .value_or(0);
}

}  // namespace

int evaluate_regressors(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  if (!given.feature.empty() && given.draw.empty())
    throw Error("--feature says along which column the pictures of --draw DIR are drawn; give that too");
  if (!given.draw.empty() && given.models.size() > 1)
    throw Error("--draw draws one model; evaluate them apart");
  const RegressionEvaluationOptions options{.quadrature = quadrature_of(arguments)};
  return evaluate_models(
      arguments,
      [&](const std::string& name) {
        const Regressor model = open_regressor(name, arguments.common.code()).model;
        const Frame frame =
            read_frame_for(model, given.data, frame_options(arguments), TargetNeed::kRequired);
        const RegressionRows data = regression_rows(model, frame, TargetNeed::kRequired);
        if (!given.feature.empty()) check_feature(model, frame, given.feature);
        note_encoding(arguments, data.report);
        const RowsPart part = part_in(model, rows_part(name, given.data));
        RegressionRow row{name, model.targets, evaluated(model, data, options, arguments.common.quiet), part};
        warn_about_coverage(row);
        Json report = regression_json(row.evaluation, model.targets, part);
        if (part == RowsPart::kTrained) report["trained"] = true;
        report["columns"] = encoding_json(data.report);
        report["normalizer"] = model.normalizer_kind;
        if (!given.draw.empty() && !data.high.empty())
          throw_error("--draw: the pictures are of targets that are numbers, found a target of kind {}",
                      model.target_kind);
        if (!given.draw.empty())
          report["pictures"] =
              draw_regressor(arguments, {model, frame, data.inputs, data.target}, row.evaluation);
        return std::pair(std::move(report), std::move(row));
      },
      regression_tables);
}

int audit_regressor(const Arguments& arguments) {
  const AuditOptions options = audit_options(arguments.audit);
  const AuditArguments& given = arguments.audit;
  const AuditPlace place = audit_place(given);
  const auto opened = open_regressor(given.model, arguments.common.code());
  const auto& path = opened.path;
  const auto& model = opened.model;
  const FrameOptions reading{.header = arguments.reader.header};
  const Frame frame = read_frame_for(model, given.data, reading, TargetNeed::kOptional);
  const bool has_targets = frame.find(model.targets[0]) != nullptr || model.members.size() > 1;
  const RegressionRows data =
      regression_rows(model, frame, has_targets ? TargetNeed::kRequired : TargetNeed::kOptional);
  note_encoding(arguments, data.report);
  const ShownRows rows{model, frame, data.inputs, data.target};
  const RowsPart part = part_in(model, audited_part(given));
  ReportDocument document = audit_heading(path, given.data);
  const auto put_out = [&](const AuditWords& found, uint64_t inputs, const char* what, const char* without,
                           const Certificate& certificate) {
    AuditWords words{{{"model", path}, {"data", given.data}, {"kind", "amortised"}},
                     fmt::format("{} of {} on {}: {} inputs{}; log Z of each by quadrature\n\n", what, path,
                                 given.data, grouped(inputs), without) +
                         found.text};
    words.json.update(found.json);
    return end_audit(arguments, {place, part, certificate}, document, std::move(words));
  };
  if (!has_targets) {
    const NormalizerAudit result = audit_normalizer(model, data.inputs.view(), {.audit = options});
    add_regression_inputs(rows, result, {given.data, part}, document);
    return put_out(regression_audit_words(result, part), result.rows, "b(x)", " without targets",
                   result.certificate);
  }
  const RegressionEvaluation result = evaluated(model, data, {.audit = options}, arguments.common.quiet);
  warn_about_coverage({path, model.targets, result, part});
  if (data.high.empty()) add_regression(rows, result, {given.data, part}, document);
  return put_out(regression_audit_words(result, part), result.rows, "log-densities with b(x)", "",
                 result.certificate);
}

int score_regressor(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  const auto [path, model] = open_regressor(given.model, arguments.common.code());
  ServedKind served = served_rung(
      arguments, {.certified = stored_rungs(model, path), .names = {"amortised"}, .exact = "quadrature"});
  const Frame frame = read_frame_for(model, given.data, frame_options(arguments), TargetNeed::kRequired);
  const RegressionRows data = regression_rows(model, frame, TargetNeed::kRequired);
  note_encoding(arguments, data.report);
  // Masses of intervals are by quadrature, and what says how precise it has to be asks for it.
  if (!served.is_asked_for && (!data.high.empty() || arguments.has("--precision"))) {
    served.name = "quadrature";
    served.eps = std::numeric_limits<double>::infinity();
  }
  const bool is_exact = served.name == "quadrature";
  if (!is_exact) arguments.refuse({"--precision"}, "is of --exact");
  if (!is_exact && served.is_asked_for && !arguments.common.quiet)
    warn_about_rms(stored_rms(model), "amortised", "--exact");
  std::vector<double> log_density;
  if (is_exact) {
    PredictionOptions options{.quantiles = {}, .intervals = {}, .quadrature = quadrature_of(arguments)};
    options.high = data.high;
    predict(model, data.inputs.view(), data.target, options,
            [&](uint64_t, Prediction&& row) { log_density.push_back(row.log_density.value()); });
  } else if (!data.high.empty()) {
    throw_error(
        "the target is {}, whose probabilities are masses of intervals by quadrature; expected no --raw and "
        "no --amortised",
        model.target_kind == "interval" ? "an interval" : "a " + model.target_kind);
  } else {
    log_density = raw_log_density(model, data.inputs.view(), data.target);
  }
  const std::string& kind = served.name;
  RowSheet sheet(arguments.common.json,
                 "# " + served.text() + (is_exact ? "" : ", " + model.normalizer_kind + " b(x)"),
                 served.json());
  for (size_t i = 0; i < log_density.size(); ++i)
    sheet.row({{"row", frame.numbers[i]}, {"log_prob", log_density[i]}, {"", kind}});
  sheet.finish();
  return 0;
}

}  // namespace selfnorm::cli
