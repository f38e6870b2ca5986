#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/failure.h"
#include "base/near_name.h"
#include "classifier/audit_report.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/array/array_file.h"
#include "data/example_source.h"
#include "data/input/sniff.h"
#include "family.h"
#include "math/parallel.h"
#include "model/head/head_directory.h"
#include "model/head/head_file.h"
#include "model/stored_record.h"
#include "mpi/job.h"
#include "run/run_record.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

struct Named {
  std::vector<std::string> models;
  std::string data;  // empty: the command has none, or standard input
};

Named named_by(const Arguments& arguments) {
  const std::string& command = arguments.command;
  if (command == "score") return {{arguments.score.model}, arguments.score.data};
  if (command == "evaluate") return {arguments.evaluate.models, arguments.evaluate.data};
  if (command == "audit") return {{arguments.audit.model}, arguments.audit.data};
  if (command == "normalize") return {{arguments.normalize.head}, arguments.normalize.states};
  if (command == "bounds") return {{arguments.bounds.model}, arguments.bounds.data};
  if (command == "predict") return {{arguments.predict.model}, arguments.predict.data};
  if (command == "tag") return {{arguments.tag.model}, arguments.tag.data};
  if (command == "sample") return {{arguments.sample.model}, ""};
  if (command == "info") return {{arguments.info_model}, ""};
  return {};
}

// What is no regular file (a pipe) is read once, by the command itself.
bool has_content(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) > 0;
}

// The runs in a folder, as a few words: "did you mean out/a or out/b?"
std::string runs_in(const std::string& folder) {
  constexpr size_t kMost = 3;
  std::vector<std::string> runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (std::filesystem::exists(model_path(entry.path().string()), error) && entry.is_directory(error))
      runs.push_back(entry.path().string());
  std::ranges::sort(runs);
  if (runs.empty()) return "expected the directory of a finished run of 'selfnorm train', or a model file";
  return fmt::format("did you mean {}{}?",
                     fmt::join(std::span(runs).first(std::min(kMost, runs.size())), " or "),
                     runs.size() > kMost ? ", or another in it" : "");
}

void check_model_is_there(const std::string& model) {
  std::error_code error;
  const auto status = std::filesystem::status(model, error);
  if (!std::filesystem::exists(status)) throw_error("there is no model {}: {}", model, missing_text(model));
  if (std::filesystem::is_directory(status) && !std::filesystem::exists(finished_model_path(model)))
    throw_error("the folder {} has no {}; {}", model, kModelName, runs_in(model));
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(model, error) == 0)
    throw_error("{}: the file is empty, so it is no model; train it again, or give another file", model);
}

bool is_ours(const std::string& name) {
  const std::string path = model_path(name);
  return has_content(path) && !identity_of(path).family.empty();
}

void check_training_data(const Arguments& arguments) {
  const RunArguments& run = arguments.run();
  for (const std::string& data : {run.train, run.valid})
    if (!data.empty() && data != "-" && data.find('\n') == std::string::npos && is_ours(data))
      throw_error("{} is a model, not data to train on; 'selfnorm predict {} DATA' answers from it", data,
                  data);
}

// What can be wrong without looking at a file.
void check_words(const Arguments& arguments) {
  const std::string& command = arguments.command;
  const SampleArguments& sample = arguments.sample;
  const ScoreArguments& score = arguments.score;
  if (command == "audit") audit_options(arguments.audit);
  if (command == "predict") arguments.predict.options.validate();
  if (command == "predict" && arguments.predict.output_format == "table" && arguments.common.json)
    throw Error("give only one of --json and --output-format table");
  if (command == "tag" && arguments.tag.marginals && arguments.tag.all_marginals)
    throw Error("give only one of --marginals and --all-marginals");
  if (command == "evaluate" && arguments.evaluate.data == "-" && arguments.evaluate.models.size() > 1)
    throw Error("standard input can be read only once, so for one model; store the data in a file");
  if (int(!score.candidates.empty()) + int(!score.candidates_file.empty()) + int(score.top > 0) > 1)
    throw Error("give only one of --candidates, --candidates-file and --top");
  if (command != "sample") return;
  if (sample.options.count == 0) throw Error("sample needs -n N, the number of points; N >= 1");
  sample.options.validate();
}

}  // namespace

bool is_model_command(const Arguments& arguments) {
  return arguments.command != "info" && !named_by(arguments).models.empty();
}

int model_command(const Arguments& arguments) {
  const auto [models, data] = named_by(arguments);
  check_words(arguments);
  if (data == "-" && started_together())
    throw Error("standard input reaches one of several processes only; store the data in a file");
  const ThreadLimit limit(arguments.common.threads);
  return run_for_family(arguments, models);
}

void check_model_and_data(const Arguments& arguments) {
  if (arguments.command.starts_with("train ")) return check_training_data(arguments);
  const auto [models, data] = named_by(arguments);
  const bool data_is_model = !data.empty() && data != "-" && is_ours(data);
  const char* between = arguments.command == "normalize" ? " --states " : " ";
  for (const std::string& model : models) {
    if (arguments.command != "normalize" || !is_head_directory(model)) check_model_is_there(model);
    if (is_pickle_file(model)) refuse_pickle(model);
    if (is_npy_head(array_head(model)) && !data_is_model) refuse_npy_head(model);
    const bool is_array = is_array_file(model);
    if (!has_content(model) || model.ends_with(runtime::kShardIndexEnding) ||
        (is_array && !(data_is_model && !is_ours(model))))
      continue;
    if (data_is_model)
      throw_error("{} is data and {} is a model, and the model comes first: selfnorm {} {}{}{}", model, data,
                  arguments.command, data, between, model);
    throw_error(
        "{} is data, not a model; expected MODEL{}, where MODEL is a file or run directory of 'selfnorm "
        "train', or a "
        "softmax head in safetensors or npz",
        model, data.empty() && arguments.command != "tag" ? "" : between + std::string("DATA"));
  }
  if (data_is_model)
    throw_error("{} is a model, not data; give the data after the model: selfnorm {} {}{}DATA", data,
                arguments.command, models.empty() ? "MODEL" : models[0], between);
  std::error_code error;
  if (!data.empty() && std::filesystem::is_regular_file(data, error) && !has_content(data))
    throw_error("{}: {}", data, kEmptyFile);
}

}  // namespace selfnorm::cli
