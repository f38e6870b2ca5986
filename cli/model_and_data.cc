#include <filesystem>

#include "base/failure.h"
#include "classifier/audit_report.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/array/array_file.h"
#include "data/example_source.h"
#include "family.h"
#include "math/parallel.h"
#include "model/stored_record.h"

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

bool is_ours(const std::string& name) {
  const std::string path = model_path(name);
  return has_content(path) && !identity_of(path).family.empty();
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

int model_command(const Arguments& arguments) {
  const std::vector<std::string> models = named_by(arguments).models;
  if (models.empty()) throw Bug("no function for command " + arguments.command);
  check_words(arguments);
  const ThreadLimit limit(arguments.common.threads);
  return run_for_family(arguments, models);
}

void check_model_and_data(const Arguments& arguments) {
  const auto [models, data] = named_by(arguments);
  const std::string usage =
      arguments.command + (arguments.command == "normalize" ? " MODEL --states DATA" : " MODEL DATA");
  const bool data_is_model = !data.empty() && data != "-" && is_ours(data);
  for (const std::string& model : models) {
    if (is_pickle_file(model)) refuse_pickle(model);
    const bool is_array = is_array_file(model);
    if (has_content(model) && (!is_array || (data_is_model && !is_ours(model)))) {
      constexpr const char* kModel =
          "a file or run directory of 'selfnorm train', or a softmax head in safetensors or npz";
      if (data.empty() && arguments.command != "tag")
        throw_error("{} is no model; expected {}", model, kModel);
      throw_error(
          "{}: the first file is data, not a model: MODEL comes first, as in 'selfnorm {}', and is {}", model,
          usage, kModel);
    }
  }
  if (data_is_model)
    throw_error("{} is a model, not data: DATA comes after MODEL, as in 'selfnorm {}'", data, usage);
}

}  // namespace selfnorm::cli
