#include "run/model_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/example_source.h"
#include "document/picture.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/trade_off_section.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

// Multiplications that the audit of a run may take: a few seconds.
constexpr double kAuditWork = 8e9;
constexpr uint64_t kFewestAudited = 1000;

// Inputs that the trade-off is computed for.
constexpr uint64_t kTradeInputs = 2000;

constexpr const char* kNormalised = "probabilities of the model, which sum to 1";

// "held out of data.csv, 1,000 of 25,000 inputs"
std::string data_words(const ShownRun& run, uint64_t shown, uint64_t inputs) {
  const RunArguments& given = run.given;
  std::string text = run.part == RowsPart::kTrained ? given.train + ", the training data"
                     : given.valid.empty()          ? "held out of " + given.train
                                                    : given.valid;
  if (shown < inputs) text += fmt::format(", {} of {} inputs", grouped(shown), grouped(inputs));
  return text;
}

ReportCard perplexity_card(double nll, const std::string& source) {
  return {"perplexity", "Perplexity, exact", fmt::format("{:.5g}", std::exp(nll)), std::exp(nll), source};
}

std::string objective_of(const ModelFile& model) {
  const auto json = nlohmann::json::parse(model.objective_json, nullptr, false);
  return json.is_object() ? json.value("name", "") : "";
}

void add_model(const ShownRun& run, ReportDocument& out) {
  out.cards.push_back({"model", "Model", model_words(run.model), {}, run.file});
}

void add_normalised(const ShownRun& run, uint64_t shown, uint64_t inputs, double nll, ReportDocument& out) {
  add_model(run, out);
  out.notes.push_back("The probabilities of this model sum to 1 as they are: there is no log Z to show.");
  if (run.part == RowsPart::kTrained)
    out.notes.push_back(
        "The model was trained on the inputs shown, so they tell nothing about other inputs; 'selfnorm "
        "evaluate' takes others.");
  if (run.part == RowsPart::kChoseStep)
    out.notes.push_back(
        "The inputs shown chose the step of training, so the likelihood is a little optimistic; 'selfnorm "
        "evaluate' takes others.");
  out.cards.push_back({"data", "Data", data_words(run, shown, inputs), std::nullopt, "evaluated"});
  out.cards.push_back({"inputs", "Inputs", grouped(shown), static_cast<double>(shown),
                       "probabilities by the tree of classes"});
  out.cards.push_back({"nll_exact", "NLL, exact", fmt::format("{:.4f}", nll), nll, kNormalised});
}

}  // namespace

std::vector<uint64_t> audited_rows(uint64_t inputs, double multiplications) {
  const double most = kAuditWork / std::max(1.0, multiplications);
  return spread_rows(inputs, std::max(kFewestAudited, static_cast<uint64_t>(most)));
}

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
  if (model.input == ModelInput::Context && audit.labelled)
    document.cards.push_back(perplexity_card(audit.labelled->nll_exact, "exact log Z of every position"));
  if (model.encoder.exists() || !source.has_targets()) return;
  Dataset data = source.gather(spread_rows(source.examples(), kTradeInputs));
  data = subset(data, seen_examples(data));
  data.labels = ClassNames::numbers(model.classes);  // which blocks of a source do not have
  const TradeOffResult found = trade_off(model, data);
  if (found.curve)
    add_trade_off(*found.curve, document);
  else
    document.notes.push_back(fmt::format("No trade-off curve: {}.", found.reason));
}

void add_run(const ShownRun& run, const ExampleSource& source, ReportDocument& out) {
  const ModelFile& model = run.model;
  add_model(run, out);
  const std::vector<uint64_t> inputs =
      audited_rows(source.examples(), static_cast<double>(model.classes) * model.features);
  const ExampleSubset audited(source, inputs);
  const bool amortised = model.normalizer.exists();
  Audit result = audit(model, audited, {.amortised = amortised, .with_v_star = false});
  for (std::vector<AuditedInput>* list : {&result.sample, &result.worst_inputs})
    for (AuditedInput& input : *list)
      if (!run.places.empty()) input.example = run.places[input.example];
  add_model_audit(result,
                  {.kind = amortised ? "amortised" : "raw",
                   .data = data_words(run, audited.examples(), source.examples()),
                   .labels = model.labels,
                   .norm = norm_words(model),
                   .part = run.part,
                   .numbering = run.numbering,
                   .is_requested = false},
                  model, source, out);
}

void add_evaluated_run(const ShownRun& run, const Evaluation& evaluation, ReportDocument& out) {
  add_model(run, out);
  const auto add = [&](const char* key, const char* name, double value) {
    out.cards.push_back({key, name, fmt::format("{:.4f}", value), value, "exact log Z of the inputs"});
  };
  add("nll_exact", "NLL, exact", evaluation.nll_exact);
  add("rms_log_z", "rms log Z", evaluation.log_z.rms);
  out.cards.push_back({"accuracy", "Accuracy", percent(evaluation.accuracy), evaluation.accuracy, ""});
  note_unseen(evaluation.unseen, "inputs", out);
}

void add_normalised_run(const ShownRun& run, const Evaluation& evaluation, ReportDocument& out) {
  add_normalised(run, evaluation.n, evaluation.n, evaluation.nll_exact, out);
  note_unseen(evaluation.unseen, "inputs", out);
  out.cards.push_back(
      {"accuracy", "Accuracy", percent(evaluation.accuracy), evaluation.accuracy, kNormalised});
}

void add_normalised_run(const ShownRun& run, const LanguageEvaluation& evaluation, ReportDocument& out) {
  add_normalised(run, evaluation.tokens, evaluation.of_tokens, evaluation.nll_exact, out);
  out.cards.push_back(perplexity_card(evaluation.nll_exact, kNormalised));
}

}  // namespace selfnorm::cli
