#include <algorithm>
#include <optional>

#include "base/failure.h"
#include "classifier/evaluation_report.h"
#include "classifier/normalize_report.h"
#include "classifier/normalized_file.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/crf_report.h"
#include "data/example_source.h"
#include "document/section/audit_section.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_gauge.h"
#include "family/crf/crf_ladder.h"
#include "family/crf/crf_section.h"
#include "output.h"
#include "run/progress_line.h"
#include "run/reading_note.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kComparedSentences = 1000;

// A CRF at a stage of the work, as stored, on the held-out sentences.
struct CrfState {
  CrfAudit audit;                           // of A - b, where there is a b
  CrfLevels raw;                            // of A
  std::optional<CrfEvaluation> evaluation;  // where they have labels
};

// One of two steps: lossless moves weights, amortised fits b(x) to A of the model as it is.
struct CrfNormalizeReport : NormalizedInputs {
  CrfState before, after;
  std::optional<LosslessStep> lossless;
  std::optional<double> rms_fitted;  // amortised: of A - b on the sentences b is fitted to
};

struct NamedState {
  std::string name;
  const CrfState& state;
};

std::vector<NamedState> crf_states_of(const CrfNormalizeReport& r) {
  return {{"before", r.before}, {r.lossless ? "lossless" : "less b(x)", r.after}};
}

std::string state_row(const NamedState& named) {
  const auto& [audit, raw, evaluation] = named.state;
  std::string text = log_z_row("  " + named.name, audit.log_z) +
                     fmt::format("   rms a token {:>8.4f}", audit.log_z_per_token.rms);
  if (evaluation)
    text += fmt::format("   NLL exact {:.4f}, raw {:.4f}", evaluation->nll_exact, evaluation->nll_raw);
  if (evaluation && evaluation->amortised)
    text += fmt::format(", amortised {:.4f}", evaluation->amortised->nll);
  return text + "\n";
}

// rms log Z before and after by length.
std::string lengths_table(const CrfNormalizeReport& r) {
  std::vector<std::vector<std::string>> cells{{"tokens", "sentences"}};
  const std::vector<NamedState> states = crf_states_of(r);
  for (const NamedState& s : states) cells[0].push_back("rms " + s.name);
  for (const NamedState& s : states) cells[0].push_back("a token, " + s.name);
  for (size_t i = 0; i < r.before.audit.by_length.size(); ++i) {
    const LengthLevel& level = r.before.audit.by_length[i];
    cells.push_back({length_words(level), grouped(level.sentences)});
    for (const auto rms : {&LengthLevel::rms, &LengthLevel::rms_per_token})
      for (const NamedState& s : states)
        cells.back().push_back(fmt::format("{:.4f}", s.state.audit.by_length[i].*rms));
  }
  return aligned(cells);
}

// The keys of normalize_json, and the same a token and by length; "nll_amortised" where there is a b.
Json crf_normalize_json(const CrfNormalizeReport& r) {
  const CrfState& last = r.after;
  Json out;
  if (r.lossless)
    out = lossless_json(*r.lossless);
  else
    out = {{"fitted", r.states}, {"held_out", r.held_out}, {"log_z_before", log_z_json(r.log_z_before)}};
  out["log_z_per_token_before"] = log_z_json(r.before.audit.log_z_per_token);
  if (r.lossless) out["log_z_per_token_lossless"] = log_z_json(last.audit.log_z_per_token);
  if (r.rms_fitted) {
    out["amortisation"] = {
        {"hidden", 0}, {"rms_training", *r.rms_fitted}, {"rms_held_out", last.audit.log_z.rms}};
    out["log_z_amortised"] = log_z_json(last.audit.log_z);
    out["log_z_amortised_per_token"] = log_z_json(last.audit.log_z_per_token);
  }
  out["log_z"] = log_z_json(last.audit.log_z);
  out["log_z_per_token"] = log_z_json(last.audit.log_z_per_token);
  out["by_length_before"] = lengths_json(r.before.audit.by_length);
  out["by_length"] = lengths_json(last.audit.by_length);
  if (last.evaluation) {
    out["nll_exact_before"] = r.before.evaluation->nll_exact;
    out["nll_exact"] = last.evaluation->nll_exact;
    out["nll_raw_before"] = r.before.evaluation->nll_raw;
    out["nll_raw"] = last.evaluation->nll_raw;
    if (last.evaluation->amortised) out["nll_amortised"] = last.evaluation->amortised->nll;
  }
  return out;
}

std::string crf_normalize_text(const CrfNormalizeReport& r) {
  std::string text;
  if (r.lossless) text += lossless_text(*r.lossless);
  if (r.rms_fitted)
    text += fmt::format(
        "amortised    b(x), linear in T and the unigram attributes, fitted to log Z of {} sentences; weights "
        "stay as they are\n             rms of log Z - b(x): {:.4f} on these, {:.4f} on held-out sentences\n",
        grouped(r.states), *r.rms_fitted, r.after.audit.log_z.rms);
  text += fmt::format("\nlog Z of {} held-out sentences\n", grouped(r.held_out));
  for (const NamedState& named : crf_states_of(r)) text += state_row(named);
  return text + "\n" + lengths_table(r);
}

// `model` as it is written.
ReportDocument crf_normalize_document(const CrfNormalizeReport& r, const CrfModel& model,
                                      const NormalizePlaces& places) {
  ReportDocument out{.name = places.out,
                     .command = "normalize",
                     .title = fmt::format("{}, normalised on {}", places.model, places.states)};
  if (r.lossless) out.notes = lossless_warnings(*r.lossless);
  const CrfState& last = r.after;
  add_crf({model, last.audit, last.evaluation ? &*last.evaluation : nullptr,
           model.normalizer.exists ? "amortised" : "raw", places.states, places.part},
          out);
  if (r.lossless)
    add_lossless_cards(*r.lossless, out);
  else
    add_input_cards(r, out);
  std::vector<NormalizationState> states;
  std::vector<LengthState> lengths;
  for (const auto& [name, state] : crf_states_of(r)) {
    states.push_back({name, &state.audit, state.audit.log_z_per_token.rms, {}});
    if (state.evaluation) states.back().nll_exact = state.evaluation->nll_exact;
    lengths.push_back({name, state.audit.by_length});
  }
  add_states(states, out);
  add_length_states(lengths, out);
  return out;
}

// What the model itself says of the held-out sentences; is_amortised: it has a b(x).
std::string normalized_crf_audit(const CrfState& last, bool is_amortised) {
  Json out = {{"data", "held-out sentences of selfnorm normalize"}};
  if (last.evaluation) {
    out.update(crf_json(*last.evaluation));
  } else {
    out["sentences"] = last.audit.sentences;
    out["tokens"] = last.audit.tokens;
    const CrfLevels less_b{last.audit.log_z, last.audit.log_z_per_token, last.audit.by_length};
    out.update(levels_json(last.raw, is_amortised ? &less_b : nullptr));
  }
  return out.dump();
}

void check_normalize_options(const Arguments& arguments) {
  const NormalizeArguments& given = arguments.normalize;
  arguments.refuse({"--delta", "--budget"},
                   given.head +
                       " is a CRF, which is not retrained here; one with a bound on log Z is trained "
                       "by 'selfnorm train crf --objective constraint --delta D', one with a price on it by "
                       "'--objective penalty --alpha A'");
  if (given.amortise == "mlp")
    throw_error("--amortise mlp: {} is a CRF, whose b(x) is linear; expected --amortise linear", given.head);
}

class CrfWork {
 public:
  CrfWork(const Arguments& arguments, const CrfModel& model, const Sequences& data)
      : quiet_(arguments.common.quiet), before_(model) {
    auto [kept, held_out] =
        random_split(data.sentences(), arguments.normalize.hold_out, arguments.normalize.seed);
    kept_ = subset(data, kept);
    held_out_ = subset(data, held_out);
    places_ = std::move(held_out);
    has_labels_ = std::ranges::find(held_out_.label, kNoLabel) == held_out_.label.end();
    report_.inputs = "sentences";
    report_.states = kept_.sentences();
    report_.held_out = held_out_.sentences();
    report_.before = state_of(before_);
    report_.log_z_before = report_.before.audit.log_z;
  }

  CrfModel lossless() {
    ProgressLine line(quiet_);
    NormalizedCrf done = normalize_crf(before_, kept_, shown(line, "log-normalizers"));
    line.finish();
    report_.after = state_of(done.model);
    LosslessStep& step = report_.lossless.emplace();
    static_cast<NormalizedInputs&>(step) = report_;
    step.regressors = "(1, attribute counts, T)";
    step.features = before_.shape.unigrams + before_.shape.bigrams + 1;
    step.gauge = std::move(done.gauge);
    step.plain = std::move(done.plain);
    step.log_z_after = report_.after.audit.log_z;
    std::vector<uint64_t> first(std::min(kComparedSentences, held_out_.sentences()));
    for (uint64_t i = 0; i < first.size(); ++i) first[i] = i;
    const CrfDifference difference = crf_difference(before_, done.model, subset(held_out_, first));
    step.compared = first.size();
    step.probability = difference.probability;
    step.log_probability = difference.log_probability;
    done.model.objective_json = normalized_objective(done.model.objective_json);
    return std::move(done.model);
  }

  // Raw scores stay what they were, so the objective says of them what it said.
  CrfModel amortised() {
    CrfModel model = before_;
    ProgressLine line(quiet_);
    report_.rms_fitted = amortise_crf(kept_, model, shown(line, "log-normalizers to amortise"));
    line.finish();
    report_.after = state_of(model);
    const double with = report_.after.audit.log_z.rms, without = report_.before.audit.log_z.rms;
    if (with < without) return model;
    warning(
        fmt::format("b(x) is left out: on held-out sentences rms log Z is {:.4g} with it and {:.4g} without; "
                    "give more sentences, which the model was not trained on, with --states",
                    with, without));
    report_.after = report_.before;
    return before_;
  }

  const CrfNormalizeReport& report() const { return report_; }
  // Of sentences that had no part in normalising.
  CrfLadder ladder_of(const CrfModel& model, uint64_t seed, RowsPart part) const {
    return fit_crf_ladder(model, held_out_, seed, part == RowsPart::kTrained);
  }

 private:
  CrfProgress shown(ProgressLine& line, const char* what) const {
    return [&line, what, total = kept_.sentences()](uint64_t done) { line.show({done, total, what}); };
  }
  // Sentences are numbered as in the file.
  CrfState state_of(const CrfModel& model) const {
    CrfState out{audit_crf(model, held_out_, {.amortised = model.normalizer.exists, .with_v_star = false}),
                 crf_levels(held_out_, crf_log_z(model, held_out_)),
                 {}};
    for (WorstInput& input : out.audit.worst) input.example = places_[input.example];
    if (has_labels_) out.evaluation = evaluate_crf(model, held_out_);
    return out;
  }

  bool quiet_, has_labels_ = false;
  const CrfModel& before_;
  Sequences kept_, held_out_;
  std::vector<uint64_t> places_;  // of the held-out sentences
  CrfNormalizeReport report_;
};

}  // namespace

int normalize_crf_command(const Arguments& arguments) {
  const NormalizeArguments& given = arguments.normalize;
  check_normalize_options(arguments);
  const NamedCrf crf = open_crf(given.head);
  // Of the sentences; the model that is written keeps its own.
  const SequenceEncoder encoder = reading_encoder(crf.model.encoder, arguments.reader.format, given.head);
  const StatesPlace place = states_of_model(given);
  const std::string out = normalized_path(given.out, crf.path);
  check_normalized_path(out, crf.path, place.path);
  const Sequences data = read_sequences(place.path, encoder, false, UnseenLabel::kept);
  note_unseen(place.path, data);
  if (data.sentences() < 2)
    throw_error("{}: found {} sentence, expected at least 2 (and rather 1,000)", place.path,
                data.sentences());
  const bool amortises = given.amortise != "none";
  if (!arguments.common.quiet) {
    note(fmt::format("{}: {} labels, {} attributes; {}", crf.path, grouped(crf.model.shape.labels),
                     grouped(crf.model.shape.unigrams + crf.model.shape.bigrams),
                     sentences_text(place.path, encoder, data)));
  }
  const bool has_b = !crf.model.normalizer.slope.empty() && !amortises;
  note_before(arguments, place, "sentences", has_b ? "b(x)" : "");
  if (place.part == RowsPart::kTrained && !arguments.common.quiet)
    note("nothing is certified on them: 'score' gives exact log-probabilities of the model that is written");
  CrfWork work(arguments, crf.model, data);
  CrfModel model = amortises ? work.amortised() : work.lossless();
  Json audit = Json::parse(normalized_crf_audit(work.report().after, model.normalizer.exists));
  audit["ladder"] = Json::parse(crf_ladder_json(work.ladder_of(model, given.seed, place.part)));
  model.audit_json = audit.dump();
  save_crf(model, out);
  const NormalizePlaces places{crf.path, place.path, out, place.part};
  put_out_normalization(arguments, places, crf_normalize_document(work.report(), model, places),
                        {crf_normalize_json(work.report()), crf_normalize_text(work.report())});
  return 0;
}

}  // namespace selfnorm::cli
