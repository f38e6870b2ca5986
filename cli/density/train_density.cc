#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "commands.h"
#include "data/example_source.h"
#include "data/points/point_source.h"
#include "density/density_model.h"
#include "family/density/density_evaluation.h"
#include "family/density/density_section.h"
#include "family/density/train/autoregressive_training.h"
#include "family/density/train/density_trainer.h"
#include "model/energy/autoregressive_energy.h"
#include "model/energy/make_energy.h"
#include "objective/registry.h"
#include "output.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

void check_density_options(const Arguments& arguments) {
  const DensityArguments& given = arguments.density;
  if (given.run.train.empty()) throw Error("train density needs DATA, rows of numbers (csv, tsv, npy, ...)");
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
    options.categorical.clear();
    options.known = out.all->categories();
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

constexpr double kLineCopies = 26;  // of the parameters of lines, in memory at most; measured at 500 columns

// Of columns with networks that differ in their inputs alone: 1, 1, 2, 3, ...
double line_parameters(const std::string& word, double columns) {
  EnergyPlan plan;
  plan.word = word;
  plan.dimension = 1;
  const auto one = make_energy(plan);
  const double width = dynamic_cast<const AutoregressiveEnergy&>(*one).shape().features.front();
  return columns * static_cast<double>(std::as_const(*one).parameters().size()) +
         width * (columns - 1) * (columns - 2) / 2;
}

// Of the networks and their draws; families have a parameter a statistic, of pairs of columns at the most.
RunNeeds needs_of(const DensityOptions& given, const PointSource& points) {
  const DensityOptions options = resolved_steps(given);
  const std::string word = options.energy == "auto" ? EnergyPlan().word : options.energy;
  const double d = points.columns();
  double parameters = d * (d + 1), widths = 0, copies = 6;
  if (is_autoregressive(word)) {
    parameters = line_parameters(word, d);
    widths = parameters / d;
    copies = kLineCopies;
  } else if (word.starts_with("mlp") || word.starts_with("rbm")) {
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
  RunNeeds needs{
      .what = fmt::format("{} columns with --samples {} and --batch {}", grouped(points.columns()),
                          grouped(options.samples), grouped(options.batch)),
      .memory = sizeof(float) * (copies * parameters + rows * (2 * d + std::min(widths, 8192.0))),
      .checkpoint = sizeof(float) * 5 * parameters,
      .model = sizeof(float) * parameters,
      .operations = has_steps ? kProduct * 3 * static_cast<double>(options.steps) * rows * parameters : 0,
      .advice = "use a smaller --samples, --batch or --energy"};
  if (given.energy == "auto" && can_race_lines(given, points.columns())) {
    DensityOptions lines = given;
    lines.energy = "autoregressive";
    const RunNeeds other = needs_of(lines, points);
    needs.memory = std::max(needs.memory, other.memory);
    needs.checkpoint += other.model;  // which has what is kept of them
    needs.checkpoint = std::max(needs.checkpoint, other.checkpoint);
    needs.model = std::max(needs.model, other.model);
    needs.operations += other.operations;
  }
  return needs;
}

class DensityTraining final : public Training {
 public:
  explicit DensityTraining(const Arguments& arguments)
      : arguments_(arguments), given_(arguments.density), options_(given_.options) {
    check_density_options(arguments);
  }

  ReadData read(const std::string&) override {
    points_ = read_points(arguments_);
    options_.geometry = resolve_geometry(options_, *points_.all);
    points_.all = directed_points(std::move(points_.all), options_.geometry);
    check_step_applicability(arguments_, points_.all->columns());
    return {.notes = std::move(points_.notes),
            .warnings = {},
            .records = {{"data", points_.record}, {"valid", points_.valid_record}},
            .needs = needs_of(options_, *points_.all)};
  }

  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    result_ = train_density(*points_.all, points_.train, points_.valid, options_, checkpoint, observer);
    return result_;
  }

  Verdict judge() override {
    const bool has_valid = !points_.valid.empty();
    DensityModel& model = result_.model;
    audited_.emplace(*points_.all, has_valid ? points_.valid : points_.train);
    Verdict out{.data = has_valid ? "validation" : "training", .warnings = idle_options(arguments_, model)};
    if (!result_.choice.empty()) out.notes.push_back(result_.choice);
    if (has_valid)
      out.simple = simple_density(model, *points_.all, points_.train, points_.valid, options_.seed);
    const auto say = [this](const std::string& text) {
      if (!arguments_.common.quiet) note(text);
    };
    SettledDensity settled = settle_normalizer(model, *audited_, options_, say);
    evaluation_ = std::move(settled.evaluation);
    std::string kept = has_valid || result_.diverged
                           ? keep_proposal(model, *audited_, evaluation_, has_valid ? "held-out" : "training")
                           : "";
    if (!kept.empty())
      out.notes.push_back(std::move(kept));
    else if (!settled.moved.empty())
      out.notes.push_back(std::move(settled.moved));
    out.audit = {{"data", out.data}};
    out.audit.update(density_json(evaluation_));
    if (out.simple) out.audit["simple"] = simple_json(*out.simple);
    model.audit_json = out.audit.dump();
    out.nll = evaluation_.nll;
    out.table = density_table({{options_.objective, evaluation_, normalizer_doubt(model)}});
    return out;
  }

  void save(const std::string& path) const override { save_density(result_.model, path); }

  void show(const std::string&, ReportDocument& document) override {
    const RowsPart part = part_of_rows();
    add_density(
        {result_.model, *audited_, evaluation_, data_words(given_.run, part, "rows"), part, options_.seed},
        document);
  }

 private:
  // A closed form and Newton's method have no steps that rows could choose from.
  RowsPart part_of_rows() const {
    const RowsPart part =
        points_.valid.empty() ? RowsPart::kTrained : part_of_valid(given_.run.train, given_.run.valid);
    return part == RowsPart::kChoseStep && result_.optimiser != "adam" ? RowsPart::kNone : part;
  }

  const Arguments& arguments_;
  const DensityArguments& given_;
  DensityOptions options_;
  TrainingPoints points_;
  DensityResult result_;
  std::optional<PointSubset> audited_;
  DensityEvaluation evaluation_;
};

}  // namespace

std::unique_ptr<Training> density_training(const Arguments& arguments) {
  return std::make_unique<DensityTraining>(arguments);
}

}  // namespace selfnorm::cli
