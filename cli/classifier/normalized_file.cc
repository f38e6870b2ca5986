#include "classifier/normalized_file.h"

#include <unistd.h>

#include <filesystem>

#include "base/failure.h"
#include "classifier/audit_report.h"
#include "model/head/head_file.h"
#include "model/parameters.h"
#include "output.h"
#include "run/run_record.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

// What save_head and round_to_kind need to know, without another copy of the weights.
Head head_without_model(const Head& head) {
  return {.path = head.path,
          .format = head.format,
          .kind = head.kind,
          .bias_kind = head.bias_kind,
          .names = head.names,
          .has_bias = head.has_bias,
          .model = {}};
}

void refuse_overwriting(const std::string& out, const std::string& input) {
  if (is_same_file(out, input))
    throw_error("--out {} would overwrite {}, which is read; name another file", out, input);
}

// `wanted` is how the name ends.
void check_new_file(const std::string& out, const std::string& model, const std::string& wanted) {
  if (!out.ends_with(wanted))
    throw_error("--out {}: the file is written in the format of {}; expected a name that ends in {}", out,
                model, wanted);
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  if (!std::filesystem::is_directory(name) || access(name.c_str(), W_OK) != 0)
    throw_error("cannot create {}: {} is not a folder that can be written to", out, name);
}

}  // namespace

StatesPlace states_of_model(const NormalizeArguments& given) {
  if (!given.states.empty()) return {given.states, given.states_name, rows_part(given.head, given.states)};
  const bool is_run = std::filesystem::is_directory(given.head);
  const std::string train = is_run ? recorded_data(given.head, "data") : "";
  if (train.empty() || !std::filesystem::exists(train)) throw no_states(given);
  return {train, given.states_name, RowsPart::kTrained};
}

Error no_states(const NormalizeArguments& given) {
  return Error(
      fmt::format("{}: normalising needs inputs of the model; give --states FILE (hidden states, or data "
                  "like those it was trained on)",
                  given.head));
}

void note_before(const Arguments& arguments, const StatesPlace& place, const std::string& inputs,
                 const std::string& b) {
  if (!b.empty())
    warning(fmt::format("the {} stored in {} fits no more and is left out; --amortise fits a new one", b,
                        finished_model_path(arguments.normalize.head)));
  if (place.part == RowsPart::kTrained && !arguments.common.quiet)
    note(
        fmt::format("the model was trained on these {}, so what is measured on those held out here is "
                    "optimistic; --states takes others",
                    inputs));
}

std::string normalized_path(const std::string& out, const std::string& model) {
  if (!out.empty()) return out;
  const size_t stem = model.size() - runtime::kShardIndexEnding.size();
  const std::filesystem::path path =
      model.ends_with(runtime::kShardIndexEnding) ? model.substr(0, stem) + ".safetensors" : model;
  return (path.parent_path() / (path.stem().string() + "-normalized" + path.extension().string())).string();
}

void check_normalized_path(const std::string& out, const AnyModel& any,
                           const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs)
    if (!input.empty() && !is_same_file(out, any.path())) refuse_overwriting(out, input);
  check_new_file(out, any.path(),
                 any.head() && any.head()->format == HeadFormat::Npz ? ".npz" : ".safetensors");
}

void check_normalized_path(const std::string& out, const std::string& crf, const std::string& sentences) {
  refuse_overwriting(out, crf);
  refuse_overwriting(out, sentences);
  check_new_file(out, crf, ".safetensors");
}

void round_as_stored(const AnyModel& any, ModelFile& model) {
  if (any.head()) {
    Head head = head_without_model(*any.head());
    head.model = std::move(model);
    round_to_kind(head);
    model = std::move(head.model);
  } else {
    selfnorm::round_as_stored(model);
  }
}

std::string normalized_objective(const std::string& objective_json) {
  auto objective = Json::parse(objective_json);
  objective["normalized"] = true;
  return objective.dump();
}

void save_normalized(const AnyModel& any, ModelFile model, const Audit& last, const std::string& out) {
  if (any.head()) {
    Head head = head_without_model(*any.head());
    head.model = std::move(model);
    save_head(head, out);
    return;
  }
  model.objective_json = normalized_objective(model.objective_json);
  Json audited = {{"data", "held-out states of selfnorm normalize"}};
  audited.update(audit_json(last));
  // What is long, and what states that may have trained the model cannot promise.
  for (const char* key :
       {"histogram", "worst", "certificate", "rho_bound", "smallest_eps", "v_star", "v_star_adjusted"})
    audited.erase(key);
  model.audit_json = audited.dump();
  save_model(model, out);
}

}  // namespace selfnorm::cli
