#include "experiments/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "experiments/document.h"
#include "experiments/papers/next_word.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 4> kGroups = {"all", "density", "regression", "sequences"};

bool is_group(const std::string& name) { return std::ranges::find(kGroups, name) != kGroups.end(); }

// The group a name stands for, or that of the experiment it names.
std::string group_of(const std::string& name) {
  if (name == "all") return "papers";
  return is_group(name) ? name : find_experiment(name).group;
}

// What would fail after minutes of work fails now. A file that is not committed leaves nothing behind.
void check_outputs(const ReproductionOptions& given) {
  std::error_code failure;
  fs::create_directories(given.out, failure);
  if (failure)
    throw Error(fmt::format("--out {}: the folder cannot be created ({})", given.out, failure.message()));
  const AtomicFile probe(given.out + "/reproduce");
  if (const std::string document = given.document_path(); !document.empty()) const AtomicFile other(document);
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

std::vector<const Experiment*> chosen(const std::string& name) {
  std::vector<const Experiment*> out;
  for (const Experiment& experiment : experiments())
    if (is_group(name) ? experiment.group == group_of(name) : name == experiment.name)
      out.push_back(&experiment);
  return out;
}

std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* set = std::getenv("SELFNORM_DATA");
  return set != nullptr && *set != '\0' ? set : "../shared/data";
}

// The file of finished trainings of an experiment.
std::string cells_path(const ReproductionOptions& given, const Experiment& experiment) {
  if (experiment.group == "papers") return "";
  std::string path = given.out + "/" + experiment.name + ".cells.jsonl";
  std::error_code ignored;
  if (given.fresh) fs::remove(path, ignored);
  return path;
}

}  // namespace

std::string ReproductionOptions::document_path() const {
  if (!document.empty() || !is_group(experiment)) return document;
  return out + "/" + (experiment == "all" ? "reproduction" : experiment) + ".md";
}

std::vector<std::string> reproduction_names() {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  names.insert(names.end(), kGroups.begin(), kGroups.end());
  return names;
}

nlohmann::ordered_json Reproduced::json() const {
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(json_text(record, seconds));
  for (const char* key : {"rows", "columns", "report"}) report.erase(key);
  report["data"] = base + ".csv";
  report["figure"] = problem.empty() ? nlohmann::ordered_json(base + ".svg") : nlohmann::ordered_json();
  if (!problem.empty()) report["figure_problem"] = problem;
  return report;
}

std::vector<Reproduced> reproduce(const ReproductionOptions& given,
                                  const std::function<void(double, const std::string&)>& progress) {
  using Clock = std::chrono::steady_clock;
  check_outputs(given);
  const std::vector<const Experiment*> work = chosen(given.experiment);
  double all_seconds = 0, done_seconds = 0;
  for (const Experiment* experiment : work) all_seconds += experiment->seconds;
  std::vector<Reproduced> out;
  std::vector<Record> records;
  for (const Experiment* experiment : work) {
    const std::string text =
        fmt::format("{} ({} of {}): {}", experiment->name, out.size() + 1, work.size(), experiment->text);
    const auto show = [&](double share) {
      progress(100 * (done_seconds + share * experiment->seconds) / all_seconds, text);
    };
    show(0);
    const auto start = Clock::now();
    Reproduced one{.experiment = experiment,
                   .record = experiment->run({.seed = given.seed,
                                              .extent = Extent::full,
                                              .text = given.text,
                                              .data = data_folder(given.data),
                                              .cells = cells_path(given, *experiment),
                                              .threads = given.threads,
                                              .progress = show})};
    one.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    done_seconds += experiment->seconds;
    one.base = given.out + "/" + one.record.name;
    one.problem = write_record(one.record, one.seconds, given.out, experiment->group);
    records.push_back(one.record);
    out.push_back(std::move(one));
  }
  if (const std::string document = given.document_path(); !document.empty())
    AtomicFile::write_file(
        document, document_text(group_of(given.experiment), records, figures_folder(given.out, document)));
  return out;
}

}  // namespace selfnorm
