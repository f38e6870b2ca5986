#include "family/crf/crf_section.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "document/section/audit_section.h"

namespace selfnorm {
namespace {

constexpr const char* kExactCrfSource = "exact log Z of every sentence";

std::string model_text(const CrfModel& model) {
  const auto objective = nlohmann::json::parse(model.objective_json);
  std::string text = fmt::format("chain, {} labels, {} attributes", model.shape.labels,
                                 fmt::group_digits(model.shape.unigrams + model.shape.bigrams));
  if (objective.contains("name")) text += ", " + objective["name"].get<std::string>();
  return text;
}

ReportCard sentence_card(const char* id, std::string label, double number, std::string source) {
  return {id, std::move(label), fmt::format("{:.4f}", number), number, std::move(source)};
}

ReportCard sentence_share_card(const char* id, const char* label, double share, std::string source) {
  return {id, label, percent(share, 4), share, std::move(source)};
}

void add_labelled_cards(const CrfEvaluation& e, std::vector<ReportCard>& cards) {
  constexpr const char* kRaw = "raw scores alone";
  constexpr const char* kAmortised = "scores less b(x), which stands for log Z of a sentence";
  cards.push_back(sentence_share_card("accuracy", "Accuracy", e.accuracy,
                                      "tokens whose label is that of the best labelling"));
  cards.push_back(sentence_share_card("sentence_accuracy", "Sentences right", e.sentence_accuracy,
                                      "all labels of the best labelling"));
  if (e.spans)
    cards.push_back(
        sentence_share_card("span_f1", "F1 of spans", e.spans->all.f1(), "both ends and the type"));
  cards.push_back(sentence_card("nll_exact", "NLL of a sentence, exact", e.nll_exact, kExactCrfSource));
  cards.push_back(sentence_card("nll_raw", "NLL of a sentence, raw", e.nll_raw, kRaw));
  cards.push_back(
      sentence_card("nll_exact_per_token", "NLL a token, exact", e.nll_exact_per_token, kExactCrfSource));
  cards.push_back(sentence_card("nll_raw_per_token", "NLL a token, raw", e.nll_raw_per_token, kRaw));
  if (!e.amortised) return;
  cards.push_back(
      sentence_card("nll_amortised", "NLL of a sentence, amortised", e.amortised->nll, kAmortised));
  cards.push_back(sentence_card("nll_amortised_per_token", "NLL a token, amortised",
                                e.amortised->nll_per_token, kAmortised));
}

// Of the errors.
std::string level_name(const ShownCrf& shown) { return shown.kind == "raw" ? "log Z" : "log Z - b"; }

void add_cards(const ShownCrf& shown, ReportDocument& document) {
  std::vector<ReportCard>& cards = document.cards;
  const Certificate& c = shown.errors.certificate;
  cards.push_back({"model", "Model", model_text(shown.model), std::nullopt, ""});
  cards.push_back({"data", "Data", shown.data, std::nullopt, ""});
  cards.push_back(
      {"inputs", "Sentences", fmt::format("{}", fmt::group_digits(c.n)), static_cast<double>(c.n), ""});
  const std::string level = level_name(shown);
  cards.push_back(
      sentence_card("rms_log_z", "rms " + level + " of a sentence", shown.errors.log_z.rms, kExactCrfSource));
  cards.push_back(sentence_card("rms_log_z_per_token", "rms " + level + " a token",
                                shown.errors.log_z_per_token.rms, kExactCrfSource));
  add_variance(shown.errors, document);
  if (shown.evaluation != nullptr) {
    note_unseen(shown.evaluation->unseen, "tokens", document);
    add_labelled_cards(*shown.evaluation, cards);
  }
  if (shown.part == RowsPart::kTrained)
    cards.push_back({"certificate", "Certificate of the normalizer",
                     "none: the model was trained on these sentences", std::nullopt, ""});
  else
    cards.push_back(certificate_card(c, shown.kind, certificate_source("exact log Z", shown.part)));
}

void add_sentences_part(RowsPart part, ReportDocument& document) {
  if (part == RowsPart::kTrained)
    document.notes.push_back(
        "The model was trained on the sentences shown, so they tell nothing about other sentences; 'selfnorm "
        "evaluate' takes others.");
  if (part == RowsPart::kChoseStep)
    document.notes.push_back(
        "The sentences shown chose the step of training and the level of log Z, so what is shown is a little "
        "optimistic; 'selfnorm evaluate' takes others.");
}

std::string length_label(const LengthLevel& level) {
  return fmt::format("{} to {} tokens, {} sentences", level.shortest, level.longest, level.sentences);
}

ReportFigure length_figure(const std::vector<LengthLevel>& levels, const std::string& level_name) {
  Series sentence{.name = "rms of a sentence", .x = {}, .y = {}, .colour = 0};
  Series token{.name = "rms a token", .x = {}, .y = {}, .colour = 1};
  Series mean{.name = "mean of a sentence", .x = {}, .y = {}, .stroke = Stroke::dashed_points, .colour = 2};
  for (const LengthLevel& level : levels) {
    const auto length = static_cast<double>(level.shortest);
    for (const auto& [series, y] : {std::pair(&sentence, level.rms), std::pair(&token, level.rms_per_token),
                                    std::pair(&mean, level.mean)}) {
      series->x.push_back(length);
      series->y.push_back(y);
      series->labels.push_back(length_label(level));
    }
  }
  return {.id = "log_z_by_length",
          .look = fmt::format("{} of sentences by their length: near 0 at every length, {} of labellings are "
                              "log-probabilities.",
                              level_name, level_name == "log Z" ? "raw scores" : "scores less b"),
          .figure = {.title = level_name + " against the length of a sentence",
                     .panels = {{.title = "",
                                 .x = {.label = "tokens, from", .logarithmic = true},
                                 .y = {.label = level_name + ", in nats"},
                                 .series = {std::move(sentence), std::move(token), std::move(mean)}}}}};
}

ReportTable span_table(const SpanEvaluation& spans) {
  Table table{.caption = "Spans by type",
              .columns = {"type", "precision", "recall", "F1", "correct", "predicted", "actual"}};
  const auto add = [&table](const std::string& name, const SpanCounts& c) {
    table.add({name, c.precision(), c.recall(), c.f1(), static_cast<double>(c.correct),
               static_cast<double>(c.predicted), static_cast<double>(c.actual)});
  };
  for (const auto& [type, counts] : spans.by_type) add(type, counts);
  add("all", spans.all);
  return {.id = "spans",
          .look = "A span is correct when both of its ends and its type are; F1 is best at 1.",
          .table = std::move(table)};
}

}  // namespace

void add_crf(const ShownCrf& shown, ReportDocument& document) {
  add_cards(shown, document);
  add_sentences_part(shown.part, document);
  ErrorAudit errors = shown.errors;  // without what is a CRF's own
  if (shown.part == RowsPart::kTrained) errors.certificate.smallest_eps.reset();
  add_errors(errors, shown.kind, document);
  document.section("Normalisation")
      .figures.push_back(length_figure(shown.errors.by_length, level_name(shown)));
  if (shown.evaluation != nullptr && shown.evaluation->spans)
    document.section("Spans").tables.push_back(span_table(*shown.evaluation->spans));
}

void add_length_states(const std::vector<LengthState>& states, ReportDocument& document) {
  const auto panel = [&states](const char* label, double LengthLevel::*rms) {
    Panel out{.title = "",
              .x = {.label = "tokens, from", .logarithmic = true},
              .y = {.label = label},
              .series = {}};
    for (size_t i = 0; i < states.size(); ++i) {
      Series series{.name = states[i].name, .x = {}, .y = {}, .colour = static_cast<uint32_t>(i)};
      for (const LengthLevel& level : states[i].levels) {
        series.x.push_back(static_cast<double>(level.shortest));
        series.y.push_back(level.*rms);
        series.labels.push_back(length_label(level));
      }
      out.series.push_back(std::move(series));
    }
    return out;
  };
  document.section("Normalisation")
      .figures.push_back({.id = "log_z_by_length_states",
                          .look = "rms log Z of held-out sentences by their length after every step: it "
                                  "should fall, and not grow with length.",
                          .figure = {.title = "log Z against length, step by step",
                                     .panels = {panel("rms log Z of a sentence", &LengthLevel::rms),
                                                panel("rms log Z a token", &LengthLevel::rms_per_token)}}});
}

}  // namespace selfnorm
