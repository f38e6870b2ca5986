#include "run/training_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/failure.h"
#include "data/example_source.h"
#include "grammar/option_list.h"
#include "interruption.h"
#include "objective/registry.h"
#include "output.h"
#include "run/run_record.h"

namespace selfnorm::cli {
RunObserver::RunObserver(const std::string& metrics, const Arguments& arguments)
    : log_(metrics),
      line_(arguments.common.quiet,
            arguments.command == "train lm" ? ProgressLine::Unit::perplexity : ProgressLine::Unit::nll,
            arguments.run().verbose),
      quiet_(arguments.common.quiet) {}

void RunObserver::on_progress(const Progress& progress) {
  try {
    log_.append(progress);
  } catch (const Error& error) {  // tried again at the next line
    if (!std::exchange(misses_lines_, true))
      on_warning(fmt::format("{}; training goes on without all of its lines", error.what()));
  }
  line_.show(progress);
}

void RunObserver::on_warning(const std::string& text) {
  line_.finish();
  warning(text);
}

void RunObserver::on_note(const std::string& text) {
  line_.finish();
  if (!quiet_) note(text);
}

bool RunObserver::stop_requested() { return takes_interruption(); }

void check_run(const RunArguments& given) {
  number_or_auto("--hold-out", given.hold_out, 0, 0.5);
  if (given.checkpoint_seconds < 0) {
    throw_error("--checkpoint-seconds is {}; expected 0 or more", given.checkpoint_seconds);
  }
}

void check_rows(const RunArguments& given) {
  if (!given.valid.empty() && given.hold_out != "auto")
    throw Error("--hold-out: rows are held out when there is no --valid; give only one of them");
  if (given.train == "-" && given.valid == "-")
    throw Error("standard input can be read only once; store the data or those of --valid in a file");
}

double hold_out_fraction(const RunArguments& given, uint64_t examples, bool keeps_all) {
  return number_or_auto("--hold-out", given.hold_out, 0, 0.5).value_or(default_hold_out(examples, keeps_all));
}

RunDirectory run_directory(const Arguments& arguments) {
  using Mode = RunDirectory::Mode;
  const RunArguments& given = arguments.run();
  const std::string path = given.resume        ? resumed_run_path(given, arguments.objective())
                           : given.out.empty() ? new_run_path(given, arguments.objective())
                                               : given.out;
  return {path, given.resume ? Mode::kResume : given.overwrite ? Mode::kOverwrite : Mode::kNew};
}

bool has_nothing_to_resume(const Arguments& arguments, const RunDirectory& run) {
  const bool is_complete = arguments.run().resume && run.is_complete();
  if (is_complete) note(fmt::format("the run in {} is complete; nothing to resume", run.path()));
  return is_complete;
}

void check_resumed_data(const Arguments& arguments, const RunDirectory& run, const DataRecords& records) {
  if (!arguments.run().resume) return;
  for (const auto& [key, record] : records)
    if (!record.is_null()) check_same_data(run.path(), key, record);
}

void begin_run(const Arguments& arguments, const std::vector<std::string>& notes, const DataRecords& records,
               RunDirectory& run) {
  for (const std::string& text : notes) note(text);
  stop_in_order(fmt::format("interrupted; 'selfnorm {} --resume --out {}' continues to the same model",
                            arguments.command, run.path()));
  nlohmann::ordered_json record = {{"command", arguments.command},
                                   {"directory", std::filesystem::current_path().string()},
                                   {"options", arguments.options}};
  for (const auto& [key, value] : records) record[key] = value;
  run.begin(record);
}

// Dense products are so much quicker than the scattered ones of sparse rows, at least: 26 times (on a busy
// machine) and 65 times were seen.
constexpr double kDenseGain = 16;

RunNeeds network_needs(const EncoderPlan& plan, const TrainOptions& options, const NetworkLoad& load,
                       const std::string& advice) {
  // Forward and backward: the embeddings, the hidden layer, and the classes that are scored.
  const double dimension = options.encoder.dimension, hidden = options.encoder.hidden;
  const bool draws = is_candidate_objective(options.objective.name);
  const double scored =
      draws ? std::min<double>(plan.classes, static_cast<double>(options.objective.samples)) : plan.classes;
  const double each = load.inputs * dimension * (1 + hidden) + scored * (hidden > 0 ? hidden : dimension);
  const double model = sizeof(float) * network_parameters(plan, options);
  return {.what = fmt::format(
              "{} classes and {} inputs with embeddings of {}{}", grouped(plan.classes), grouped(plan.inputs),
              options.encoder.dimension,
              options.encoder.hidden > 0 ? fmt::format(" and {} hidden units", options.encoder.hidden) : ""),
          .memory = network_bytes(plan, options),
          .checkpoint = 2 * model,
          .model = model,
          .operations = 3 * static_cast<double>(options.epochs) * load.examples * each / kDenseGain,
          .advice = advice};
}

CheckpointOptions checkpoint_options(const RunArguments& given, const RunDirectory& run) {
  return {.path = run.file(kCheckpointName), .seconds = given.checkpoint_seconds, .resume = given.resume};
}

bool warn_about_simple(const Arguments& arguments, double nll, const SimpleModel& simple) {
  if (const std::string text = not_better(nll, simple); !text.empty() && !arguments.common.quiet)
    warning(text);
  return is_divergence(nll, simple);
}

nlohmann::ordered_json simple_json(const SimpleModel& simple) {
  return {{"model", simple.name}, {"nll", simple.nll}};
}

void end_run(RunDirectory& run) {
  run.keep();
  unlink(run.file(kCheckpointName).c_str());
  remove_checkpoint_parts(run.file(kCheckpointName));
  stop_in_order(fmt::format("interrupted; the model is in {}, its report is not", run.model()));
}

void print_report(const Arguments& arguments, const RunDirectory& run, const RunResult& result,
                  const Verdict& verdict, const std::string& page) {
  if (arguments.common.json) {
    print_json({{"run", run.path()},
                {"model", run.model()},
                {"objective", arguments.objective()},
                {"optimiser", result.optimiser},
                {"reason", result.reason},
                {"diverged", result.diverged},
                {"train", progress_json(result.last)},
                {"audit", verdict.audit},
                {"page", page.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(page)}});
    return;
  }
  const std::string steps = result.optimiser.empty()
                                ? ""
                                : fmt::format("{} {} steps of {}", result.diverged ? ";" : " after",
                                              grouped(result.last.step), result.optimiser);
  print(fmt::format("{}{}, {:.1f} s\n\n", result.reason, steps, result.last.seconds));
  print(fmt::format("on the {} data:\n{}", verdict.data, verdict.table));
  print(fmt::format("\nmodel    {}\nmetrics  {}\noptions  {}\n", run.model(), run.file(kMetricsName),
                    run.file(kRecordName)));
  if (!page.empty()) print(fmt::format("report   {}\n", page));
}

}  // namespace selfnorm::cli
