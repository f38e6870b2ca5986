#include "model_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "output.h"
#include "selfnorm/data/example_subset.h"
#include "selfnorm/report/picture.h"
#include "selfnorm/report/trade_off_section.h"

namespace selfnorm::cli {
namespace {

// Multiplications that the audit of a run may take: a few seconds.
constexpr double kAuditWork = 2e10;
constexpr uint64_t kFewestAudited = 1000;

// Inputs that the trade-off is computed for.
constexpr uint64_t kTradeInputs = 2000;

std::vector<uint64_t> audited_inputs(const ModelFile& model, const ExampleSource& source) {
  const double work = std::max(1.0, static_cast<double>(model.classes) * model.features);
  return spread_rows(source.examples(), std::max(kFewestAudited, static_cast<uint64_t>(kAuditWork / work)));
}

std::string data_words(const RunArguments& run, bool is_held_out) {
  if (!is_held_out) return run.train + ", the training data";
  return run.valid.empty() ? "held out of " + run.train : run.valid;
}

std::string objective_of(const ModelFile& model) {
  const auto json = nlohmann::json::parse(model.objective_json, nullptr, false);
  return json.is_object() ? json.value("name", "") : "";
}

}  // namespace

std::string norm_words(const ModelFile& model) {
  return model.encoder.exists() ? "norm of the state" : "norm of the input";
}

std::string model_words(const ModelFile& model) {
  const std::string objective = objective_of(model);
  return fmt::format("{}{}{}, {} features{}", objective, objective.empty() ? "" : ", ",
                     model.family == Family::Joint ? "alternatives" : grouped(model.classes) + " classes",
                     grouped(model.features), model.encoder.exists() ? " of an encoder" : "");
}

void add_model_audit(const Audit& audit, const AuditNames& names, const ModelFile& model,
                     const ExampleSource& source, ReportDocument& document) {
  add_audit(audit, names, document);
  if (model.encoder.exists() || !source.has_targets()) return;
  Dataset data = source.gather(spread_rows(source.examples(), kTradeInputs));
  data.labels.resize(model.classes);  // which blocks of a source do not have
  if (const TradeOffResult found = trade_off(model, data); found.curve) add_trade_off(*found.curve, document);
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
                            const ExampleSource& source, bool is_held_out) {
  ReportDocument out = plain_run_document(arguments, run, model);
  const std::vector<uint64_t> inputs = audited_inputs(model, source);
  const ExampleSubset audited(source, inputs);
  const bool amortised = model.normalizer.exists();
  Audit result = audit(model, audited, {.amortised = amortised, .with_v_star = false});
  for (std::vector<AuditedInput>* list : {&result.sample, &result.worst_inputs})
    for (AuditedInput& input : *list) input.example = inputs[input.example];
  std::string data = data_words(arguments.run(), is_held_out);
  if (audited.examples() < source.examples())
    data += fmt::format(", {} of {} inputs", grouped(audited.examples()), grouped(source.examples()));
  add_model_audit(result,
                  {.kind = amortised ? "amortised" : "raw",
                   .data = data,
                   .labels = model.labels,
                   .norm = norm_words(model),
                   .part = is_held_out ? RowsPart::kChoseStep : RowsPart::kTrained,
                   .is_requested = false},
                  model, source, out);
  return out;
}

}  // namespace selfnorm::cli
