#include "selfnorm/checkpoint.h"

#include <filesystem>

#include "api/rows.h"
#include "base/failure.h"
#include "family/classifier/normalize/normalization.h"
#include "model/head/head_directory.h"

namespace selfnorm {
namespace {

// A directory that can be named another way than by "." has the new one beside it.
std::string named_directory(const std::string& path) {
  const std::string last = std::filesystem::path(path).filename().string();
  if (last != "." && last != "..") return path;
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(path, error);
  return error ? path : found.string();
}

// "DIR/" -> "DIR"
std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

bool is_checkpoint_directory(const std::string& path) { return is_head_directory(path); }

NormalizedCheckpoint normalize_checkpoint(const std::string& given, const std::string& states,
                                          const CheckpointHeadOptions& options) {
  require_range(options.eps > 0, "within", options.eps, "a number > 0");
  require_range(options.hold_out > 0 && options.hold_out <= 0.5, "hold_out", options.hold_out,
                "more than 0, at most 0.5");
  const std::string path = named_directory(without_slash(given));
  if (!is_head_directory(path))
    throw_error(
        "{}: expected a directory with config.json and model.safetensors, or shards with "
        "model.safetensors.index.json",
        path);
  NormalizedCheckpoint out;
  out.out = options.out.empty() ? path + "-normalized" : without_slash(options.out);
  check_new_directory(path, out.out);
  HeadDirectory directory =
      open_head_directory(path, {options.weight_name, options.bias_name}, options.vocabulary);
  const ModelFile before = directory.head.model;
  StatesOptions reading;
  reading.name = options.states_name;
  reading.classes = before.classes;
  const auto source = open_states(states, reading);
  if (source->columns() != before.features)
    throw_error("{}: found states of {} numbers, but {} of {} has {} features", states, source->columns(),
                directory.head.names.weight, path, before.features);
  NormalizationOptions normalizing{.hold_out = options.hold_out, .seed = options.seed};
  normalizing.audit.eps = options.eps;
  normalizing.audit.rho = options.rho;
  normalizing.audit.confidence = options.confidence;
  normalizing.round = [&](ModelFile& model) {
    directory.head.model = std::move(model);
    round_to_kind(directory);
    model = directory.head.model;
  };
  const Normalization work(before, *source, std::move(normalizing));
  const NormalizeReport& found = work.report();
  out.shard = directory.shard;
  out.weight = directory.head_name;
  out.was_tied = directory.is_tied;
  out.classes = before.classes;
  out.features = before.features;
  out.states = found.states;
  out.held_out = found.held_out;
  out.log_normalizer = directory.has_bias() ? 0 : -static_cast<double>(work.model().bias[0]);
  out.scale = directory.scale;
  out.probability = found.probability;
  out.before = audit_report(found.before, false);
  out.after = audit_report(found.lossless, false);
  out.notes = directory.notes;
  save_head_directory(directory, out.out, options.links ? OtherFiles::linked : OtherFiles::copied);
  return out;
}

}  // namespace selfnorm
