#include "selfnorm/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "api/lossless.h"
#include "api/rows.h"
#include "base/failure.h"
#include "model/head/head_directory.h"
#include "normalizer/class_moments.h"

namespace selfnorm {
namespace {

constexpr uint64_t kComparedStates = 1000;

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
  LosslessOptions lossless{.hold_out = options.hold_out, .seed = options.seed};
  lossless.audit.eps = options.eps;
  lossless.audit.rho = options.rho;
  lossless.audit.confidence = options.confidence;
  const LosslessHead found = normalise_lossless(
      before, *source,
      [&](ModelFile& model) {
        directory.head.model = std::move(model);
        round_to_kind(directory);
        model = directory.head.model;
      },
      lossless);
  const auto [kept, held_out] = random_split(source->examples(), options.hold_out, options.seed);
  const ExampleSubset judging(*source, held_out);
  const Dataset compared = judging.block(0, std::min(kComparedStates, judging.examples()));
  out.shard = directory.shard;
  out.weight = directory.head_name;
  out.was_tied = directory.is_tied;
  out.classes = before.classes;
  out.features = before.features;
  out.states = kept.size();
  out.held_out = held_out.size();
  out.log_normalizer = directory.has_bias() ? 0 : -static_cast<double>(found.model.bias[0]);
  out.scale = directory.scale;
  out.probability = model_difference(before, found.model, compared).probability;
  out.before = audit_report(found.before, false);
  out.after = audit_report(found.after, false);
  out.notes = directory.notes;
  save_head_directory(directory, out.out, options.links ? OtherFiles::linked : OtherFiles::copied);
  return out;
}

}  // namespace selfnorm
