#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "commands.h"
#include "experiments/document.h"
#include "experiments/experiment.h"
#include "experiments/papers/next_word.h"
#include "output.h"
#include "run/progress_line.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What would fail after minutes of work fails now. A file that is not committed leaves nothing behind.
void check_outputs(const ReproduceArguments& given, const std::string& document) {
  std::error_code failure;
  fs::create_directories(given.out, failure);
  if (failure) {
    throw Error(fmt::format("--out {}: the folder cannot be created ({})", given.out, failure.message()));
  }
  const AtomicFile probe(given.out + "/reproduce");
  if (!document.empty()) const AtomicFile other(document);
  if (!given.text.empty()) language_text(given.text);
  if (!given.data.empty() && !fs::is_directory(given.data))
    throw Error(fmt::format(
        "--data {}: no such folder; expected one with uci-regression, letter, ebm-1d and ud-english-ewt",
        given.data));
}

// The folder of the figures as seen from the document.
std::string figures_folder(const std::string& out, const std::string& document) {
  const fs::path from = fs::absolute(document).lexically_normal().parent_path();
  const fs::path to = fs::absolute(out + "/").lexically_normal().parent_path();
  return to.lexically_relative(from).generic_string();
}

bool is_group(const std::string& name) {
  return name == "all" || name == "density" || name == "regression" || name == "sequences";
}

// The group a name stands for, or that of the experiment it names.
std::string group_of(const std::string& name) {
  if (name == "all") return "papers";
  return is_group(name) ? name : find_experiment(name).group;
}

std::vector<const Experiment*> chosen(const std::string& name) {
  std::vector<const Experiment*> out;
  for (const Experiment& experiment : experiments()) {
    if (is_group(name) ? experiment.group == group_of(name) : name == experiment.name)
      out.push_back(&experiment);
  }
  return out;
}

std::string document_path(const ReproduceArguments& given) {
  if (!given.document.empty() || !is_group(given.experiment)) return given.document;
  return given.out + "/" + (given.experiment == "all" ? "reproduction" : given.experiment) + ".md";
}

std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* set = std::getenv("SELFNORM_DATA");
  return set != nullptr && *set != '\0' ? set : "../shared/data";
}

// The file of finished trainings of an experiment.
std::string cells_path(const ReproduceArguments& given, const Experiment& experiment) {
  if (experiment.group == "papers") return "";
  const std::string path = given.out + "/" + experiment.name + ".cells.jsonl";
  std::error_code ignored;
  if (given.fresh) fs::remove(path, ignored);
  return path;
}

nlohmann::ordered_json report_of(const Record& record, double seconds, const std::string& base,
                                 const std::string& problem) {
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(json_text(record, seconds));
  report.erase("rows");
  report.erase("columns");
  report.erase("report");
  report["data"] = base + ".csv";
  report["figure"] = problem.empty() ? nlohmann::ordered_json(base + ".svg") : nlohmann::ordered_json();
  if (!problem.empty()) report["figure_problem"] = problem;
  return report;
}

}  // namespace

int reproduce_command(const Arguments& arguments) {
  const ReproduceArguments& given = arguments.reproduce;
  if (given.out.empty()) throw Error("reproduce needs --out DIR, the folder for its data and figures");
  const std::string document = document_path(given);
  check_outputs(given, document);
  const std::vector<const Experiment*> work = chosen(given.experiment);
  double all_seconds = 0, done_seconds = 0;
  for (const Experiment* experiment : work) all_seconds += experiment->seconds;

  ProgressLine line(arguments.common.quiet);
  std::vector<Record> records;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  std::string text;     // printed at the end: the bar and its ETA go through all experiments
  std::string problem;  // the first one stands for all: most likely there is no gnuplot
  for (size_t i = 0; i < work.size(); ++i) {
    const Experiment& experiment = *work[i];
    const auto show = [&](double share) {
      const double percent = 100 * (done_seconds + share * experiment.seconds) / all_seconds;
      line.show(
          {.done = static_cast<uint64_t>(percent),
           .total = 100,
           .text = fmt::format("{} ({} of {}): {}", experiment.name, i + 1, work.size(), experiment.text),
           .is_bound = false,
           .is_announced = false});
    };
    show(0);
    const auto start = Clock::now();
    Record record = experiment.run({.seed = given.seed,
                                    .extent = Extent::full,
                                    .text = given.text,
                                    .data = data_folder(given.data),
                                    .cells = cells_path(given, experiment),
                                    .threads = arguments.common.threads,
                                    .progress = show});
    const double seconds = seconds_since(start);
    done_seconds += experiment.seconds;
    const std::string found = write_record(record, seconds, given.out, experiment.group);
    if (problem.empty()) problem = found;
    const std::string base = given.out + "/" + record.name;
    if (arguments.common.json) {
      reports.push_back(report_of(record, seconds, base, found));
    } else if (!arguments.common.quiet) {
      text += fmt::format("{}: {} ({:.1f} s, {})\n  {} {}\n  measured: {}\n", record.name, record.title,
                          seconds, base + (found.empty() ? ".svg" : ".csv"),
                          experiment.group == "papers" ? "paper:   " : "asked:   ", record.paper,
                          record.measured);
    }
    records.push_back(std::move(record));
  }
  line.finish();
  if (!document.empty()) {
    AtomicFile file(document);
    file.write(document_text(group_of(given.experiment), records, figures_folder(given.out, document)));
    file.commit();
  }
  if (!problem.empty()) warning(problem);
  if (arguments.common.json) {
    nlohmann::ordered_json out = {{"experiments", std::move(reports)}};
    if (!document.empty()) out["document"] = document;
    print_json(out);
  } else if (!arguments.common.quiet) {
    if (!document.empty()) text += fmt::format("{}: all of it, to read\n", document);
    text += fmt::format("selfnorm report {} draws all of it on one page\n", given.out);
  }
  if (!text.empty()) print(text);
  return 0;
}

}  // namespace selfnorm::cli
