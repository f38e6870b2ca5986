#include "model_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "output.h"
#include "selfnorm/data/example_subset.h"
#include "selfnorm/report/audit_section.h"

namespace selfnorm::cli {
namespace {

// Multiplications that the audit of a run may take: a few seconds.
constexpr double kAuditWork = 2e10;
constexpr uint64_t kFewestAudited = 1000;

// Evenly spread, as many as the work allows.
std::vector<uint64_t> audited_inputs(const ModelFile& model, const ExampleSource& source) {
  const double work = std::max(1.0, static_cast<double>(model.classes) * model.features);
  const uint64_t most = std::max(kFewestAudited, static_cast<uint64_t>(kAuditWork / work)),
                 n = source.examples();
  std::vector<uint64_t> chosen(std::min(n, most));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i * n / chosen.size();
  return chosen;
}

std::string objective_of(const ModelFile& model) {
  const auto json = nlohmann::json::parse(model.objective_json, nullptr, false);
  return json.is_object() ? json.value("name", "") : "";
}

}  // namespace

std::string model_words(const ModelFile& model) {
  const std::string objective = objective_of(model);
  return fmt::format("{}{}{} {} x {} features", objective, objective.empty() ? "" : ", ",
                     model.family == Family::Joint ? "alternatives" : grouped(model.classes) + " classes",
                     model.encoder.exists() ? "on an encoder," : "", grouped(model.features));
}

ReportDocument plain_run_document(const Arguments& arguments, const RunDirectory& run,
                                  const ModelFile& model) {
  ReportDocument out{.name = run.path(),
                     .command = arguments.command,
                     .title = fmt::format("{}: {}", arguments.command, run.path())};
  out.cards.push_back({"model", "Model", model_words(model), {}, run.file(kModelName)});
  return out;
}

ReportDocument run_document(const Arguments& arguments, const RunDirectory& run, const ModelFile& model,
                            const ExampleSource& source, const std::string& data) {
  ReportDocument out = plain_run_document(arguments, run, model);
  const std::vector<uint64_t> inputs = audited_inputs(model, source);
  const ExampleSubset audited(source, inputs);
  const bool amortised = model.normalizer.exists();
  Audit result = audit(model, audited, {.amortised = amortised, .with_v_star = false});
  for (std::vector<AuditedInput>* list : {&result.sample, &result.worst_inputs})
    for (AuditedInput& input : *list) input.example = inputs[input.example];
  const std::string part =
      audited.examples() < source.examples()
          ? fmt::format("{}, {} of {} inputs", data, grouped(audited.examples()), grouped(source.examples()))
          : data;
  out.notes.push_back(
      fmt::format("Measured on the {} data, which had a part in making the model; 'selfnorm audit {} DATA' "
                  "measures on data that had none, as a certificate asks.",
                  data, run.path()));
  add_audit(result, {.kind = amortised ? "amortised" : "raw", .data = part, .labels = model.labels}, out);
  return out;
}

}  // namespace selfnorm::cli
