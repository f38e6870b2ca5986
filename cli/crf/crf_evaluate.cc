#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "classifier/audit_report.h"
#include "classifier/evaluation_report.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/crf_report.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_ladder.h"
#include "family/crf/crf_section.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/lattice.h"
#include "run/progress_line.h"
#include "run/reading_note.h"
#include "selfnorm/error.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

// log p(y|x) of a sentence's own labels: s(x,y) less a(x) of a rung with s summed in double from the weights
// (target_score), or without a rung exact s(x,y) - log Z(x) <= 0, with s and Z of the same rounded u and v
// (Lattice::log_prob), as `tag` gives it. Keeps a reference to the model, and room.
class LabellingScore {
 public:
  LabellingScore(const CrfModel& model, const CrfLadder& ladder, const std::string& rung)
      : scorer_(model.shape, model.theta) {
    if (rung == "exact")
      factors_ = transition_factors<float>(model.shape, model.theta);
    else
      rung_.emplace(model, ladder, crf_rung(ladder, rung));
  }

  double operator()(const Sequences& data, uint64_t sentence) {
    if (rung_) return scorer_.target_score(data, sentence) - (*rung_)(data, sentence);
    const CrfScores scores = scorer_(data, sentence);
    const auto labels = std::span(data.label).subspan(data.sentence_begin[sentence], scores.length);
    lattice_.forward(scores, factors_);
    return lattice_.log_prob(scores, labels);
  }

 private:
  CrfScorer scorer_;
  std::optional<CrfRungValue> rung_;
  PairFactors<float> factors_;
  Lattice lattice_;
};

// By one thread, on the first sentences. They have labels.
CrfTiming time_crf(const CrfModel& model, const CrfLadder& ladder, const Sequences& data) {
  const std::vector<uint64_t> seen = seen_sentences(data, model.shape.labels);
  const uint64_t sentences = std::min<uint64_t>(kTimedRows, seen.size());
  if (sentences == 0)
    throw Error("--timing: every sentence has a label that the model has not seen; expected one without");
  const auto time = [&](const std::string& rung) {
    LabellingScore score(model, ladder, rung);
    volatile double sink = 0;
    return nanoseconds(sentences, [&](uint64_t sentence) { sink = score(data, seen[sentence]); });
  };
  CrfTiming out;
  out.score.raw_ns = time("raw");
  out.score.exact_ns = time("exact");
  if (model.normalizer.exists) out.score.amortised_ns = time("amortised");
  for (const runtime::Rung& rung : ladder.rungs)
    if (rung.kind == runtime::RungKind::Nearest) out.nearest_ns.emplace_back(rung.name, time(rung.name));
  for (uint64_t i = 0; i < sentences; ++i)
    out.tokens += static_cast<double>(data.length(seen[i])) / static_cast<double>(sentences);
  return out;
}

CrfAudit audited(const CrfModel& model, const Sequences& data, const AuditOptions& options, bool quiet) {
  ProgressLine line(quiet);
  return audit_crf(model, data, options, [&](uint64_t done) {
    line.show({done, data.sentences(), "sentences audited"});
  });
}

}  // namespace

int evaluate_crfs(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  bool has_unseen = false;
  return evaluate_models(
      arguments,
      [&](const std::string& name) {
        const CrfModel model = open_crf(name, arguments.reader.format).model;
        const Sequences data = read_sequences(given.data, model.encoder, true, UnseenLabel::kept);
        if (!std::exchange(has_unseen, has_unseen || data.unseen.tokens > 0)) note_unseen(given.data, data);
        CrfRow row{name, evaluate_crf(model, data, arguments.common.threads), {}};
        Json report = crf_json(row.evaluation);
        if (given.timing) {
          row.timing = time_crf(model, crf_ladder_of(model, name), data);
          report.update(timing_json(*row.timing));
        }
        return std::pair(std::move(report), std::move(row));
      },
      [&](const std::vector<CrfRow>& rows) {
        return crf_table(rows) + (rows.size() == 1 ? crf_details(rows[0].evaluation) : "") +
               (given.timing ? "\n" + timing_table(rows) : "");
      });
}

int audit_crf_command(const Arguments& arguments) {
  const AuditArguments& given = arguments.audit;
  AuditOptions options = audit_options(given);
  const AuditPlace place = audit_place(given);
  const auto [path, model] = open_crf(given.model, arguments.reader.format);
  Sequences data = read_sequences(given.data, model.encoder, false, UnseenLabel::kept);
  note_unseen(given.data, data);
  const std::vector<uint64_t> sample = sampled_inputs(given, data.sentences());
  if (given.sample > 0) data = subset(data, sample);
  options.amortised = model.normalizer.exists && !given.raw;
  const std::string kind = options.amortised ? "amortised" : "raw",
                    level = options.amortised ? "log Z - b" : "log Z";
  CrfAudit errors = audited(model, data, options, arguments.common.quiet);
  for (WorstInput& input : errors.worst)
    input.example = sample.empty() ? input.example : sample[input.example];
  const bool has_labels = std::ranges::find(data.label, kNoLabel) == data.label.end();
  std::optional<CrfEvaluation> evaluation;
  if (has_labels) evaluation = evaluate_crf(model, data, arguments.common.threads);
  const RowsPart part = audited_part(given);
  ReportDocument document = audit_heading(path, given.data);
  add_crf({model, errors, evaluation ? &*evaluation : nullptr, kind, given.data, part}, document);
  AuditWords words{.json = {{"model", path},
                            {"data", given.data},
                            {"kind", kind},
                            {"n", data.sentences()},
                            {"tokens", data.positions()}},
                   .text = fmt::format(
                       "{} scores of {} on {}: {} sentences; log Z of each by the forward recursion\n\n{}\n",
                       kind, path, given.data, grouped(data.sentences()), level)};
  words.json.update(errors_json(errors));
  words.json["log_z_per_token"] = log_z_json(errors.log_z_per_token);
  words.json["by_length"] = lengths_json(errors.by_length);
  words.json.update(variance_json(errors));
  words.text += errors_text(errors, part) + log_z_line(errors.log_z_per_token, "  a token") + "\n" +
                lengths_text(errors.by_length, level) + "\n" + variance_text(errors);
  if (evaluation) {
    words.json["evaluation"] = crf_json(*evaluation);
    words.text +=
        fmt::format("likelihood   NLL of a sentence exact {:.4f}, {} {:.4f}{}\n", evaluation->nll_exact, kind,
                    options.amortised ? evaluation->amortised->nll : evaluation->nll_raw,
                    unseen_words(evaluation->unseen));
  }
  words.json.update(certified_json(errors));
  words.text += certified_text(errors, kind, part);
  const std::vector<RungDrift> drift =
      given.sample > 0 ? crf_ladder_drift(model, crf_ladder_of(model, path), data) : std::vector<RungDrift>();
  return end_audit(arguments, {place, part, errors.certificate, drift}, document, std::move(words));
}

int score_labellings(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  const auto [path, model] = open_crf(given.model, arguments.reader.format);
  const CrfLadder ladder = crf_ladder_of(model, path);
  OfferedRungs offered{.certified = ladder.rungs, .names = {"raw"}};
  if (!ladder.rungs.empty()) offered.names.push_back("level");
  if (model.normalizer.exists) offered.names.push_back("amortised");
  for (const runtime::Rung& rung : ladder.rungs)
    if (rung.kind == runtime::RungKind::Nearest) offered.names.push_back(rung.name);
  const ServedKind served = served_rung(arguments, offered);
  const bool is_piped = given.data == "-" || !std::filesystem::is_regular_file(given.data);
  SequenceStream stream(given.data, model.encoder, true);
  const std::string& name = served.name;
  const bool is_as_it_is = served.is_asked_for && (name == "raw" || name == "amortised");
  if (is_as_it_is)
    warn_about_scores(name == "raw" ? SELFNORM_RAW : SELFNORM_AMORTISED, records_of(model), "--exact");
  RowSheet sheet(arguments.common.json, "# " + served.text(), served.json(), "sentences");
  LabellingScore score(model, ladder, served.rung.empty() ? name : served.rung);
  Sequences sentence;
  SentenceText text;
  uint64_t row = 0;
  for (; stream.next(sentence, text); ++row) {
    const double log_prob = score(sentence, 0);
    std::vector<RowSheet::Field> fields{{"sentence", text.mark ? text.mark->sentence : row},
                                        // a certificate is of A, which is no less than any score
                                        {"log_prob", is_as_it_is ? log_prob : std::min(0.0, log_prob)},
                                        {"", name},
                                        {"tokens", uint64_t{sentence.positions()}}};
    if (text.mark) fields.push_back({"rank", uint64_t{text.mark->rank}});
    sheet.row(fields);
    if (is_piped) flush_output();  // who asks may be waiting for the answer
  }
  sheet.finish();
  note_no_sentence(given.data, row);
  return 0;
}

}  // namespace selfnorm::cli
