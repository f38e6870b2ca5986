// What the training commands have in common: where the run is, who watches it, how it ends.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "family/classifier/network/network_trainer.h"
#include "grammar/arguments.h"
#include "run/progress_line.h"
#include "run/run_directory.h"
#include "run/training.h"

namespace selfnorm::cli {

// Metrics to a file, progress to the terminal, Ctrl-C to the trainer.
class RunObserver : public TrainObserver {
 public:
  RunObserver(const std::string& metrics, const Arguments& arguments);

  void on_progress(const Progress& progress) override;
  void on_warning(const std::string& text) override;
  void on_note(const std::string& text) override;
  bool stop_requested() override;
  void finish() { line_.finish(); }

 private:
  MetricsLog log_;
  ProgressLine line_;
  bool quiet_;
  bool misses_lines_ = false;
};

// Throw Error for what can be wrong without looking at any data.
void check_run(const RunArguments& given);
// Of rows: densities and regressors.
void check_rows(const RunArguments& given);
// --hold-out, or the default (data/example_source.h).
double hold_out_fraction(const RunArguments& given, uint64_t examples, bool keeps_all = false);

// The run directory that is asked for: new, overwritten or resumed.
RunDirectory run_directory(const Arguments& arguments);

// Whether --resume names a run that is complete; says so.
bool has_nothing_to_resume(const Arguments& arguments, const RunDirectory& run);

// Throws Error when a resumed run was started with other data.
void check_resumed_data(const Arguments& arguments, const RunDirectory& run, const DataRecords& records);
// The data are good: their notes are said, and the run directory appears. Until now a signal ended the
// process at once, for nothing had been made; from now on the trainer sees it, and the run directory is kept.
void begin_run(const Arguments& arguments, const std::vector<std::string>& notes, const DataRecords& records,
               RunDirectory& run);

struct NetworkLoad {
  double examples, inputs;  // words or features of an example
};
RunNeeds network_needs(const EncoderPlan& plan, const TrainOptions& options, const NetworkLoad& load,
                       const std::string& advice);

CheckpointOptions checkpoint_options(const RunArguments& given, const RunDirectory& run);

// Warns when the trained model's NLL on held-out data is not better than that of a simple one; whether it is
// so much worse that training diverged.
bool warn_about_simple(const Arguments& arguments, double nll, const SimpleModel& simple);
nlohmann::ordered_json simple_json(const SimpleModel& simple);
// The model is written: nothing is left to resume.
void end_run(RunDirectory& run);

// The report of a finished run; `page` is report.html, empty when none was written.
void print_report(const Arguments& arguments, const RunDirectory& run, const RunResult& result,
                  const Verdict& verdict, const std::string& page);

}  // namespace selfnorm::cli
