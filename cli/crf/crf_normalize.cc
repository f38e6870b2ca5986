#include <fmt/format.h>

#include <algorithm>

#include "classifier/normalized_file.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/crf_normalize_report.h"
#include "data/example_source.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_gauge.h"
#include "grammar/applicability.h"
#include "run/progress_line.h"
#include "run/reading_note.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kComparedSentences = 1000;

void check_normalize_options(const Arguments& arguments) {
  const NormalizeArguments& given = arguments.normalize;
  Applicability(arguments).refuse(
      {"--delta", "--budget"},
      given.head +
          " is a chain, which is not retrained here; a chain with a bound on log Z is "
          "trained by 'selfnorm train crf --objective constraint --delta D', one with a "
          "price on it by '--objective penalty --alpha A'");
  if (given.amortise == "mlp")
    throw Error(fmt::format("--amortise mlp: {} is a chain, whose b(x) is linear; expected --amortise linear",
                            given.head));
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
    warning(fmt::format(
        "b(x) is left out: on held-out sentences rms log Z is {:.4g} with it and {:.4g} without; give "
        "more sentences, which the model was not trained on, with --states",
        with, without));
    report_.after = report_.before;
    return before_;
  }

  const CrfNormalizeReport& report() const { return report_; }

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
    throw Error(fmt::format("{}: found {} sentence, expected at least 2 (and rather 1,000)", place.path,
                            data.sentences()));
  const bool amortises = given.amortise != "none";
  if (!arguments.common.quiet) {
    note(fmt::format("{}: {} labels, {} attributes; {}", crf.path, grouped(crf.model.shape.labels),
                     grouped(crf.model.shape.unigrams + crf.model.shape.bigrams),
                     sentences_text(place.path, encoder, data)));
    if (place.part == RowsPart::kTrained)
      note(
          "the model was trained on these sentences, so what is measured on those held out here is "
          "optimistic; --states takes others");
  }
  if (!crf.model.normalizer.slope.empty() && !amortises)
    warning(fmt::format("the b(x) stored in {} fits no more and is left out; --amortise fits a new one",
                        crf.path));
  CrfWork work(arguments, crf.model, data);
  CrfModel model = amortises ? work.amortised() : work.lossless();
  model.audit_json = normalized_crf_audit(work.report().after, model.normalizer.exists);
  save_crf(model, out);
  const NormalizePlaces places{crf.path, place.path, out, place.part};
  put_out_normalization(arguments, places, crf_normalize_document(work.report(), model, places),
                        {crf_normalize_json(work.report()), crf_normalize_text(work.report())});
  return 0;
}

}  // namespace selfnorm::cli
