#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "commands.h"
#include "family/regressor/simple_regression.h"
#include "family/regressor/train/regressor_trainer.h"
#include "model/ladder.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "regressor/regressor_report.h"
#include "regressor/regressor_tables.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/error.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

void check_regressor_options(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  if (given.run.train.empty())
    throw Error("train regressor needs DATA, a table with a target (csv, tsv, npz, safetensors)");
  check_rows(given.run);
  if (given.test == "-" && (given.run.train == "-" || given.run.valid == "-"))
    throw Error("standard input can be read only once; store the data of --test in a file");
  given.options.validate();
  RegressorOptions options = given.options, initial;
  regressor_option_table(options).refuse_idle(regressor_option_table(initial));
}

// One bound is that of every target.
RegressorOptions resolved(RegressorOptions options, size_t targets) {
  for (std::vector<double>* bound : {&options.lower, &options.upper})
    if (bound->size() == 1) bound->assign(targets, bound->front());
  return options;
}

// "inputs: x1, x2; categorical: colour (3 levels)"
std::string inputs_text(const TrainingTables& tables, const RegressorOptions& options) {
  std::vector<std::string> left_out, numeric, categorical;
  std::vector<std::string> others = tables.targets;
  for (const std::string& name : {options.target_high, options.weight})
    if (!name.empty()) others.push_back(name);
  const FrameEncoder encoder(tables.frame, tables.train, others, options.module.empty(), left_out);
  for (const std::string& name : encoder.columns()) {
    const FrameColumn& column = *tables.frame.find(name);
    if (column.is_numeric) {
      numeric.push_back(name);
      continue;
    }
    std::set<uint32_t> levels;
    for (const uint64_t row : tables.train) levels.insert(column.level[row]);
    levels.erase(kMissingLevel);
    categorical.push_back(fmt::format("{} ({} levels)", name, grouped(levels.size())));
  }
  const size_t rest = tables.frame.columns.size() - others.size() - encoder.columns().size();
  return fmt::format("inputs: {} numeric columns{}{}; {} categorical{}{}; {} left out", numeric.size(),
                     numeric.empty() ? "" : " ", short_list(numeric), categorical.size(),
                     categorical.empty() ? "" : " ", short_list(categorical), rest);
}

// Each network at most as large as dense layers of its widths on all columns.
RunNeeds needs_of(const RegressorOptions& given, const TrainingTables& tables) {
  RegressorOptions options = resolved_by_rows(given, tables.train.size());
  if (options.features != given.features)  // a race may take wider ones
    for (uint32_t& width : options.features) width *= 2;
  double parameters = 0, widths = 0;
  for (const auto* layers : {&options.features, &options.joint, &options.normalizer}) {
    double inputs = static_cast<double>(tables.frame.columns.size());
    for (const uint32_t width : *layers) {
      parameters += (inputs + 1) * width;
      widths += width;
      inputs = width;
    }
  }
  const double members = static_cast<double>(options.ensemble);
  const double scored = static_cast<double>(std::min<uint64_t>(options.batch, tables.train.size())) *
                        static_cast<double>(options.samples + 1);
  return {.what = fmt::format("{} columns with --samples {} and networks of {} parameters",
                              tables.frame.columns.size(), grouped(options.samples),
                              grouped(static_cast<uint64_t>(parameters))),
          .memory = sizeof(float) * ((6 + members) * parameters + 3 * scored * widths),
          .checkpoint = sizeof(float) * (5 + members) * parameters,
          .model = sizeof(float) * members * parameters,
          .operations = 0,
          .advice = "use a smaller --samples, --batch, --features or --joint"};
}

// A number that takes two values is a class.
std::string target_doubt(const TrainingTables& tables, const RegressorOptions& options) {
  if (options.target(tables.targets[0]).has_ends()) return "";
  for (const std::string& name : tables.targets) {
    const FrameColumn& column = *tables.frame.find(name);
    std::set<double> values;
    for (size_t i = 0; column.is_numeric && i < tables.train.size() && values.size() <= 2; ++i)
      values.insert(column.number[tables.train[i]]);
    if (values.size() == 2 && tables.train.size() >= 20)
      return fmt::format(
          "the target {} takes two values only, {} and {}, which are classes; 'selfnorm train "
          "classifier' predicts them",
          name, *values.begin(), *values.rbegin());
  }
  return "";
}

constexpr uint64_t kMostShown = 20'000;  // rows that the pictures of a report look at

// What the finished model is evaluated on.
struct HeldOutRows {
  std::string name;
  RowsPart part;
  RegressionRows rows;
  const Frame& frame;
  std::vector<uint64_t> of_frame;  // its rows
};

// Validation rows of an ensemble, whose members hold out rows of their own, choose nothing.
RowsPart part_of_rows(const RunArguments& given, const Regressor& model) {
  const RowsPart part = part_of_valid(given.train, given.valid);
  return part == RowsPart::kChoseStep && model.members.size() > 1 ? RowsPart::kNone : part;
}

// A test file takes no part in training, unless it is one of the files that do.
RowsPart part_of_test(const RegressorArguments& given, const Regressor& model) {
  if (part_of_valid(given.run.train, given.test) == RowsPart::kTrained) return RowsPart::kTrained;
  const bool is_valid =
      !given.run.valid.empty() && part_of_valid(given.run.valid, given.test) == RowsPart::kTrained;
  return is_valid ? part_of_rows(given.run, model) : RowsPart::kNone;
}

HeldOutRows held_out_rows(const RegressorArguments& given, const Regressor& model,
                          const TrainingTables& tables) {
  if (tables.test) {
    std::vector<uint64_t> all(tables.test->rows);
    std::iota(all.begin(), all.end(), uint64_t{0});
    return {"test", part_of_test(given, model), regression_rows(model, *tables.test, TargetNeed::kRequired),
            *tables.test, std::move(all)};
  }
  if (tables.valid.empty())
    return {"training", RowsPart::kTrained, regression_rows(model, tables.frame, tables.train), tables.frame,
            tables.train};
  return {"validation", part_of_rows(given.run, model), regression_rows(model, tables.frame, tables.valid),
          tables.frame, tables.valid};
}

// b(x) in the place of A(x): its certificate on held-out rows is that of the log-density it gives.
runtime::Rung normalizer_rung(const RegressionEvaluation& evaluation) {
  runtime::Rung out;
  out.name = "amortised";
  out.kind = RungKind::Network;
  out.cost = 1;
  out.rms = evaluation.log_z.rms;
  out.rho = evaluation.certificate.rho;
  out.conf = evaluation.certificate.confidence;
  out.eps = evaluation.certificate.smallest_eps.value_or(std::numeric_limits<double>::infinity());
  return out;
}

class RegressorTraining final : public Training {
 public:
  explicit RegressorTraining(const Arguments& arguments)
      : arguments_(arguments), given_(arguments.regressor), options_(given_.options) {
    check_regressor_options(arguments);
  }

  ReadData read(const std::string&) override {
    tables_ = read_tables(arguments_);
    refuse_doubtful(given_.run, target_doubt(tables_, options_));
    ReadData out{
        .notes = std::move(tables_.notes),
        .warnings = {},
        .records = {{"data", tables_.record}, {"valid", tables_.valid_record}, {"test", tables_.test_record}},
        .needs = needs_of(options_, tables_)};
    out.notes.push_back(inputs_text(tables_, options_));
    if (!given_.run.valid.empty() && resolved_by_rows(options_, tables_.train.size()).ensemble > 1)
      out.notes.push_back(fmt::format(
          "{} takes no part in training: the members of an ensemble hold out rows of {}{}", given_.run.valid,
          given_.run.train, given_.test.empty() ? "; the model is evaluated on it" : ""));
    return out;
  }

  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    result_ = train_regressor(tables_.frame, tables_.targets, tables_.train, tables_.valid,
                              resolved(options_, tables_.targets.size()), checkpoint, observer);
    return result_;
  }

  Verdict judge() override {
    Regressor& model = result_.model;
    const HeldOutRows& rows = held_out_.emplace(held_out_rows(given_, model, tables_));
    Verdict out{.data = rows.name};
    if (tables_.test)
      for (const std::string& text : encoding_notes(rows.rows.report))
        out.notes.push_back(fmt::format("{}: {}", given_.test, text));
    evaluation_ =
        evaluate_regressor(model, rows.rows.inputs.view(), rows.rows.target, {.high = rows.rows.high});
    out.audit = {{"data", rows.name}};
    out.audit.update(regression_json(evaluation_, tables_.targets, rows.part));
    if (rows.part != RowsPart::kTrained && rows.rows.high.empty()) {
      const RegressionRows train = regression_rows(model, tables_.frame, tables_.train);
      out.simple = simple_regression(model, {train.inputs.view(), train.target},
                                     {rows.rows.inputs.view(), rows.rows.target});
      out.audit["simple"] = simple_json(*out.simple);
    }
    std::vector<runtime::Rung> rungs;
    if (rows.part != RowsPart::kTrained && rows.rows.high.empty()) {
      rungs.push_back(normalizer_rung(evaluation_));
      out.audit["ladder"] = Json::parse(rungs_json(rungs));
    }
    model.audit_json = out.audit.dump();
    out.nll = evaluation_.nll;
    const RegressionRow row{options_.objective, tables_.targets, evaluation_, rows.part};
    if (const std::string doubt = coverage_doubt(evaluation_, tables_.targets);
        rows.part != RowsPart::kTrained && !doubt.empty())
      out.warnings.push_back(fmt::format("{}: {}", row.name, doubt));
    out.table = regression_tables({row});
    if (!rungs.empty())
      out.table += fmt::format("certified: {}\n", rungs_text(rungs, evaluation_.certificate.inputs_needed()));
    return out;
  }

  void save(const std::string& path) const override { save_regressor(result_.model, path); }

  void show(const std::string&, ReportDocument& document) override {
    if (!held_out_->rows.high.empty()) return;  // pictures are of targets that are numbers
    const size_t targets = result_.model.targets.size();
    std::vector<uint64_t> of_frame;
    std::vector<double> target;
    const std::vector<uint64_t> chosen = spread_rows(held_out_->of_frame.size(), kMostShown);
    for (const uint64_t row : chosen) {
      of_frame.push_back(held_out_->of_frame[row]);
      for (size_t j = 0; j < targets; ++j) target.push_back(held_out_->rows.target[row * targets + j]);
    }
    const Frame frame = taken_rows(held_out_->frame, of_frame);
    const EncodedFrame inputs = held_out_->rows.inputs.take(chosen);
    const std::string& name = held_out_->name;
    const bool is_of_train = name == "training" || (name == "validation" && given_.run.valid.empty());
    const std::string& file = is_of_train      ? given_.run.train
                              : name == "test" ? given_.test
                                               : given_.run.valid;
    add_regression({result_.model, frame, inputs, target}, evaluation_,
                   {fmt::format("{}, {} rows", file, name), held_out_->part,
                    is_of_train ? held_out_->of_frame : std::vector<uint64_t>{}},
                   document);
  }

 private:
  const Arguments& arguments_;
  const RegressorArguments& given_;
  const RegressorOptions& options_;
  TrainingTables tables_;
  RegressorResult result_;
  std::optional<HeldOutRows> held_out_;
  RegressionEvaluation evaluation_;
};

}  // namespace

std::unique_ptr<Training> regressor_training(const Arguments& arguments) {
  return std::make_unique<RegressorTraining>(arguments);
}

}  // namespace selfnorm::cli
