#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "commands.h"
#include "density/density_applicability.h"
#include "density/density_model.h"
#include "density/density_points.h"
#include "density/density_report.h"
#include "density/point_parts.h"
#include "interruption.h"
#include "output.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/analysis/density_evaluation.h"
#include "selfnorm/analysis/simple_model.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/example_source.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/model/energy/make_energy.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/report/density_section.h"
#include "selfnorm/train/density_trainer.h"

namespace selfnorm::cli {
namespace {

constexpr double kFarNormalizer = 0.02;  // of |b - log Z|

void check_density_options(const Arguments& arguments) {
  const DensityArguments& given = arguments.density;
  if (given.run.train.empty()) throw Error("train density needs DATA, rows of numbers (csv, tsv, npy, ...)");
  check_run(given.run);
  check_rows(given.run);
  given.options.validate();
  check_applicability(arguments);
}

struct TrainingPoints {
  std::unique_ptr<PointSource> all;
  std::vector<uint64_t> train, valid;
  std::vector<std::string> notes;
  nlohmann::ordered_json record, valid_record;
};

std::string points_text(const std::string& path, const PointSource& points) {
  return fmt::format("{}: {} rows, {} columns", path, grouped(points.rows()), grouped(points.columns()));
}

TrainingPoints read_points(const Arguments& arguments) {
  const RunArguments& given = arguments.density.run;
  TrainingPoints out;
  PointOptions options = point_options(arguments);
  out.all = open_points(given.train, options);
  const uint64_t rows = out.all->rows();
  out.notes.push_back("read " + points_text(given.train, *out.all));
  out.record = points_record(given.train, *out.all);
  out.train.resize(rows);
  std::iota(out.train.begin(), out.train.end(), uint64_t{0});
  if (!given.valid.empty()) {
    options.names = out.all->names();
    options.columns = out.all->columns();
    auto valid = open_points(given.valid, options);
    out.notes.push_back("validation: " + points_text(given.valid, *valid));
    out.valid_record = points_record(given.valid, *valid);
    out.valid.resize(valid->rows());
    std::iota(out.valid.begin(), out.valid.end(), rows);
    out.all = std::make_unique<JoinedPoints>(std::move(out.all), std::move(valid));
  } else if (const double fraction = hold_out_fraction(given, rows); fraction > 0 && rows > 1) {
    std::tie(out.train, out.valid) = random_split(rows, fraction, arguments.density.options.seed);
    out.notes.push_back(fmt::format("held out: {} rows", grouped(out.valid.size())));
  }
  return out;
}

// Of the networks and their draws; families have a parameter a statistic, of pairs of columns at the most.
RunNeeds needs_of(const DensityOptions& options, const PointSource& points) {
  const std::string word = options.energy == "auto" ? EnergyPlan().word : options.energy;
  const double d = points.columns();
  double parameters = d * (d + 1), widths = 0;
  if (word.starts_with("mlp") || word.starts_with("rbm")) {
    EnergyPlan plan;
    plan.word = word;
    plan.dimension = points.columns();
    plan.mlp = options.mlp;
    const auto energy = make_energy(plan);
    parameters = static_cast<double>(std::as_const(*energy).parameters().size());
    widths = parameters / (d + 1);  // no layer is wider
  }
  const double rows = static_cast<double>(options.samples) +
                      static_cast<double>(std::min<uint64_t>(options.batch, points.rows()));
  constexpr double kProduct = 0.05;  // of a matrix product, in the operations of RunNeeds
  const bool has_steps =
      objective_entry(options.objective).seam != ObjectiveSeam::proposal && !is_exponential_family(word);
  return {.what = fmt::format("{} columns with --samples {} and --batch {}", grouped(points.columns()),
                              grouped(options.samples), grouped(options.batch)),
          .memory = sizeof(float) * (6 * parameters + rows * (2 * d + std::min(widths, 8192.0))),
          .checkpoint = sizeof(float) * 5 * parameters,
          .model = sizeof(float) * parameters,
          .operations = has_steps ? kProduct * 3 * static_cast<double>(options.steps) * rows * parameters : 0,
          .advice = "use a smaller --samples, --batch or --energy"};
}

// b <- log Z, and with it what is said of b.
void take_log_z(DensityEvaluation& evaluation, DensityModel& model) {
  model.log_normalizer = evaluation.b = evaluation.log_z.value;
  model.normalizer_kind = "estimated";
  evaluation.nll_b = evaluation.nll;
  evaluation.snl_bound = -evaluation.nll;
  evaluation.log_ratio = 0;
}

// Nothing that depends on the clock or the machine may enter the model: a resumed run must give the same
// bytes. A b that a trusted log Z shows to be far off is moved there if it `may_move`; `moved` says so.
DensityEvaluation evaluated(DensityModel& model, const PointSource& points, const std::string& data,
                            uint64_t seed, bool may_move, std::string& moved,
                            const std::optional<SimpleModel>& simple) {
  DensityEvaluation evaluation = evaluate_density(model, points, {.seed = seed});
  if (may_move && evaluation.is_trusted && std::abs(evaluation.log_ratio) > kFarNormalizer) {
    moved = fmt::format("b {:.4f} became log Z as found by {}, {:.4f}", evaluation.b, evaluation.log_z.method,
                        evaluation.log_z.value);
    take_log_z(evaluation, model);
  }
  nlohmann::ordered_json record = {{"data", data}};
  record.update(density_json(evaluation));
  if (simple) record["simple"] = simple_json(*simple);
  model.audit_json = record.dump();
  return evaluation;
}

// A closed form and Newton's method have no steps that rows could choose from.
RowsPart part_of_rows(const RunArguments& given, bool is_valid, const DensityResult& result) {
  const RowsPart part = is_valid ? part_of_valid(given.train, given.valid) : RowsPart::kTrained;
  return part == RowsPart::kChoseStep && result.optimiser != "adam" ? RowsPart::kNone : part;
}

ReportDocument document(const Arguments& arguments, const RunDirectory& run, const DensityResult& result,
                        const ShownDensity& shown) {
  ReportDocument out = run_heading(arguments, run, result.diverged);
  add_density(shown, out);
  return out;
}

}  // namespace

int train_density_command(const Arguments& arguments) {
  const DensityArguments& given = arguments.density;
  check_density_options(arguments);
  RunDirectory run = run_directory(arguments);
  if (has_nothing_to_resume(arguments, run)) return 0;
  const ThreadLimit limit(arguments.common.threads);
  TrainingPoints points = read_points(arguments);
  check_step_applicability(arguments, points.all->columns());
  const DataRecords records{{"data", points.record}, {"valid", points.valid_record}};
  check_resumed_data(arguments, run, records);
  points.notes.push_back(checked_needs(arguments, run, needs_of(given.options, *points.all)));
  begin_run(arguments, points.notes, records, run);

  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  DensityResult result = train_density(*points.all, points.train, points.valid, given.options,
                                       checkpoint_options(given.run, run), observer);
  observer.finish();
  if (result.interrupted) return interrupted();
  warn_about_divergence(result.diverged);
  if (!arguments.common.quiet)
    for (const std::string& text : idle_options(arguments, result.model)) warning(text);
  const bool has_valid = !points.valid.empty();
  const std::string data = has_valid ? "validation" : "training";
  std::string moved;
  std::optional<SimpleModel> simple;
  if (has_valid)
    simple = simple_density(result.model, *points.all, points.train, points.valid, given.options.seed);
  const PointSubset audited(*points.all, has_valid ? points.valid : points.train);
  const DensityEvaluation evaluation =
      evaluated(result.model, audited, data, given.options.seed,
                given.options.calibrate && given.options.normalizer == "learned", moved, simple);
  if (!moved.empty() && !arguments.common.quiet) note(moved);
  if (simple && warn_about_simple(arguments, evaluation.nll, *simple)) result.diverged = true;
  save_density(result.model, run.file(kModelName));
  end_run(run);
  const RowsPart part = part_of_rows(given.run, has_valid, result);
  const std::string page = write_run_report(arguments, run, [&] {
    return document(
        arguments, run, result,
        {result.model, audited, evaluation, data_words(given.run, part, "rows"), part, given.options.seed});
  });
  print_report(
      arguments, run,
      {result.reason, result.optimiser, result.diverged, result.last, result.model.audit_json},
      {data, density_table({{given.options.objective, evaluation, normalizer_doubt(result.model)}}), page});
  return exit_code(result.diverged);
}

}  // namespace selfnorm::cli
