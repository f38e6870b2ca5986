// The one command of training: a family gives a Training (run/training.h), and everything around it is here.
#include <fmt/format.h>

#include "commands.h"
#include "family.h"
#include "interruption.h"
#include "math/parallel.h"
#include "math/process/communicator.h"
#include "output.h"
#include "processes.h"
#include "run/report_output.h"
#include "run/run_record.h"
#include "run/shown_rows.h"
#include "run/training_run.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr int kDivergedExit = 3;
constexpr std::string_view kTrain = "train ";

int ending(const Arguments& arguments, const RunDirectory& run, const RunResult& result,
           const Verdict& verdict, const std::string& page) {
  print_report(arguments, run, result, verdict, page);
  return result.diverged ? kDivergedExit : 0;
}

// Whatever the objective: some exchange numbers before the engine compares the data, and some never get
// there.
void require_same_data(const DataRecords& records) {
  Communicator* const all = current_communicator();
  if (all == nullptr) return;
  std::string text;
  for (const auto& [key, record] : records) text += key + ' ' + json_line(record) + '\n';
  all->require_same("the data", text);
}

struct FollowingObserver : TrainObserver {
  bool stop_requested() override { return takes_interruption(); }
};

// What the other processes of a job do of a training: all that is shared. They read the data and the
// checkpoint, and write nothing.
int follow_training(Arguments arguments) {
  const std::unique_ptr<Training> training =
      family_named(arguments.command.substr(kTrain.size())).training(arguments);
  const ThreadLimit limit(arguments.common.threads);
  training->choose(arguments);
  const std::string run = current_communicator()->from_first("");
  if (run.empty()) return 0;
  require_same_data(training->read(existing_folder_of(run)).records);
  stop_in_order("");
  FollowingObserver observer;
  const RunResult result = training->train(
      {.path = run + "/" + kCheckpointName, .seconds = 0, .resume = arguments.run().resume}, observer);
  return result.interrupted ? interrupted() : 0;
}

}  // namespace

int train_command(const Arguments& given) {
  Arguments arguments = given;
  join_processes(arguments);
  Communicator* const all = current_communicator();
  if (!is_first_process()) return follow_training(std::move(arguments));
  const bool quiet = arguments.common.quiet;
  check_run(arguments.run());
  const std::unique_ptr<Training> training =
      family_named(arguments.command.substr(kTrain.size())).training(arguments);
  const ThreadLimit limit(arguments.common.threads);
  const std::vector<std::string> choices = training->choose(arguments);
  RunDirectory run = run_directory(arguments);
  const bool is_complete = has_nothing_to_resume(arguments, run);
  if (all != nullptr) all->from_first(is_complete ? "" : run.path());
  if (is_complete) return 0;
  ReadData data = training->read(run.existing_folder());
  require_same_data(data.records);
  check_resumed_data(arguments, run, data.records);
  data.notes.insert(data.notes.end(), choices.begin(), choices.end());
  data.notes.push_back(checked_needs(arguments, run, data.needs));
  begin_run(arguments, data.notes, data.records, run);
  for (const std::string& text : data.warnings) warning(text);

  RunObserver observer(run.file(kMetricsName), arguments);
  RunResult result = training->train(checkpoint_options(arguments.run(), run), observer);
  observer.finish();
  if (all != nullptr && !quiet) note(processes_text(result.last.step));
  const CommunicatorScope alone(nullptr);  // the others are done
  stop_together(false);
  if (result.interrupted) return interrupted();
  if (result.diverged)
    warning("training diverged; the model is the last good one (try a smaller --learning-rate)");
  const std::string model = run.file(training->is_split() ? kModelIndexName : kModelName);
  Verdict verdict;
  try {
    verdict = training->judge();
  } catch (const std::exception& error) {  // training is not lost
    training->save(model);
    run.keep_model(model);
    end_run(run);
    if (dynamic_cast<const Error*>(&error) == nullptr) throw;  // no memory, most likely
    const std::string text = fmt::format(
        "the model is trained and saved in {}, but could not be evaluated: {}", model, error.what());
    if (!result.diverged) throw Error(text);
    warning(text);
    return ending(arguments, run, result, {.data = "held-out", .table = "not evaluated\n"}, "");
  }
  if (!quiet) {
    for (const std::string& text : verdict.notes) note(text);
    for (const std::string& text : verdict.warnings) warning(text);
  }
  if (verdict.simple && warn_about_simple(arguments, verdict.nll, *verdict.simple)) result.diverged = true;
  training->save(model);
  run.keep_model(model);
  end_run(run);
  const std::string page = write_run_report(arguments, run, [&] {
    ReportDocument out = run_heading(arguments, run, result.diverged);
    training->show(model, out);
    show_worst_rows(arguments, model, out);
    return out;
  });
  return ending(arguments, run, result, verdict, page);
}

}  // namespace selfnorm::cli
