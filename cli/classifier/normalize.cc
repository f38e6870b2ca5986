#include <cmath>

#include "audit/gauge.h"
#include "base/failure.h"
#include "classifier/ladder_report.h"
#include "classifier/normalize_report.h"
#include "classifier/normalized_file.h"
#include "commands.h"
#include "data/array/array_file.h"
#include "data/example_source.h"
#include "gpu/device.h"
#include "normalizer/class_moments.h"
#include "normalizer/output_stream.h"
#include "output.h"
#include "run/progress_line.h"
#include "selfnorm/checkpoint.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kComparedStates = 1000;
constexpr int kNotReached = 3;
constexpr double kCertifying = 0.5;  // of the states, where a ladder is fitted to the others

bool asks_for_ladder(const Arguments& arguments) { return arguments.has_named({"--within", "--max-cost"}); }

// Without --states: the training data of a run directory, or an array in the head's own file that says it is
// states.
StatesPlace states_place(const NormalizeArguments& given, const AnyModel& any) {
  if (any.head() == nullptr) return states_of_model(given);
  if (!given.states.empty()) return {given.states, given.states_name};
  const ArrayFile file(any.path());
  for (const ArrayEntry& entry : file.entries()) {
    const bool is_asked_for = entry.name == given.states_name;
    const bool is_known =
        given.states_name.empty() && (entry.name == "states" || entry.name == "hidden_states");
    if (is_asked_for || is_known) return {any.path(), entry.name};
  }
  throw no_states(given);
}

class Normalization {
 public:
  Normalization(const Arguments& arguments, const AnyModel& any, const ExampleSource& states)
      : given_(arguments.normalize),
        quiet_(arguments.common.quiet),
        any_(any),
        ladder_(arguments.ladder),
        fits_ladder_(asks_for_ladder(arguments)),
        split_(
            random_split(states.examples(),
                         fits_ladder_ && !arguments.has_named({"--hold-out"}) ? kCertifying : given_.hold_out,
                         given_.seed)),
        kept_(states, split_.first),
        held_out_(states, split_.second) {
    report_.states = kept_.examples();
    report_.held_out = held_out_.examples();
    report_.features = any.file().features;
    report_.is_stored_in_float32 =
        any.head() ? any.head()->kind == HeadKind::Float32 && any.head()->bias_kind == HeadKind::Float32
                   : any.file().weights == WeightKind::Float32;
  }

  // Theory.md 1.5: the same distribution with the smallest variance of log Z that costs nothing.
  ModelFile lossless() {
    ModelFile model = any_.file();
    model.normalizer = {};
    model.ladder = {};
    GaugeRegression regression(kept_, model.features);
    {
      ProgressLine line(quiet_);
      OutputStream(any_.file(), kept_)
          .run(
              [&](const OutputBlock& block) {
                std::vector<double> log_z;
                for (const OutputRow& row : block.rows) log_z.push_back(row.moments.log_z());
                regression.add(block.data, log_z);
              },
              [&](uint64_t done) {
                line.show({done, kept_.examples(), "log-normalizers"});
              });
    }
    report_.gauge = regression.fit_for_prediction();
    report_.plain = regression.fit();
    apply_gauge(report_.gauge, model);
    round_as_stored(any_, model);
    report_.before = audited(any_.file());
    report_.lossless = audited(model);
    report_.log_z_before = report_.before.log_z;
    report_.log_z_after = report_.lossless.log_z;
    const Dataset rows = compared();
    report_.compared = rows.examples();
    const HeadDifference difference = model_difference(any_.file(), model, rows);
    report_.probability = difference.probability;
    report_.log_probability = difference.log_probability;
    return model;
  }

  void retrained(ModelFile& model) {
    ProgressLine line(quiet_);
    RetrainOptions options{.seed = given_.seed};
    if (given_.delta > 0) options.delta = given_.delta;
    if (given_.budget > 0) options.budget = given_.budget;
    uint64_t solve = 0;
    options.on_progress = [&](const RetrainProgress& p) {
      if (p.solve != solve) line.finish();
      solve = p.solve;
      line.show({(p.pass - 1) * p.examples + p.done, p.passes * p.examples,
                 fmt::format("examples, retraining {} at alpha {:.3g}", p.solve, p.alpha), true});
    };
    options.use_labels = given_.targets != "teacher";
    // The states that choose alpha are part of those the head is fitted to, and none of the held-out ones.
    const auto [fitted, choosing] = random_split(kept_.examples(), given_.hold_out, given_.seed + 1);
    RetrainResult result =
        retrain(any_.file(), model, ExampleSubset(kept_, fitted), ExampleSubset(kept_, choosing), options);
    model = std::move(result.model);
    result.model = {};
    round_as_stored(any_, model);
    // What the head lost as it is stored, on states that chose nothing.
    report_.retrained_kl =
        model_difference(any_.file(), model, compared()).kl / static_cast<double>(report_.compared);
    report_.retraining = std::move(result);
    report_.retrained = audited(model);
  }

  void amortised(ModelFile& model) {
    std::vector<double> log_z;
    {
      ProgressLine line(quiet_);
      log_z = log_normalizers(model, kept_, [&](uint64_t done) {
        line.show({done, kept_.examples(), "log-normalizers to amortise"});
      });
    }
    for (double& a : log_z) a -= model.log_normalizer;
    ProgressLine line(quiet_);
    AmortiseOptions options;
    options.kind = given_.amortise;
    options.network.hidden = given_.hidden;
    options.network.seed = given_.seed;
    options.on_progress = [&](const AmortiseProgress& p) {
      line.show({p.done, p.total, "examples, fitting b(h)", true});
    };
    AmortisedFit fit = fit_amortised(kept_, log_z, options);
    line.finish();
    model.normalizer = fit.normalizer;
    report_.amortisation = std::move(fit);
    Audit audit = audited(model);
    const double constant = report_.last().log_z.rms;
    std::string& doubt = report_.amortisation_doubt;
    if (!(audit.log_z.rms < constant)) {
      model.normalizer = {};
      doubt = fmt::format(
          "b(h) is left out: on held-out states rms log Z is {:.4g} with it and {:.4g} with the constant "
          "alone; give more --states, which the model was not trained on",
          audit.log_z.rms, constant);
    } else {
      report_.amortised = std::move(audit);
      if (given_.amortise == "mlp" && model.normalizer.hidden() == 0)
        doubt = fmt::format(
            "b(h) is linear: on states held out from the fit no epoch of the network of {} hidden units was "
            "better ({}); give more --states, or fewer --hidden",
            given_.hidden, report_.amortisation->reason);
    }
    if (!doubt.empty()) warning(doubt);
  }

  // Fitted to the states that everything else is fitted to, certified on the others.
  void laddered(ModelFile& model, RowsPart part) {
    ProgressLine line(quiet_);
    LadderOptions options = ladder_options(ladder_, given_.seed, line);
    options.certifies = part != RowsPart::kTrained;
    const LadderFit fit = fit_ladder(model, kept_, held_out_, options);
    line.finish();
    model.ladder = fit.ladder;
    report_.ladder = fit;
  }
  bool fits_ladder() const { return fits_ladder_; }

  const NormalizeReport& report() const { return report_; }

 private:
  // Of the held-out states, which have no part in anything that is chosen.
  Audit audited(const ModelFile& model) const {
    return audit(model, held_out_, {.amortised = model.normalizer.exists(), .with_v_star = false});
  }
  Dataset compared() const { return held_out_.block(0, std::min(kComparedStates, held_out_.examples())); }

  const NormalizeArguments& given_;
  bool quiet_;
  const AnyModel& any_;
  const LadderArguments& ladder_;
  bool fits_ladder_;
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> split_;
  ExampleSubset kept_, held_out_;
  NormalizeReport report_;
};

}  // namespace

int normalize_head(const Arguments& arguments) {
  const NormalizeArguments& given = arguments.normalize;
  if (is_checkpoint_directory(given.head)) return normalize_directory(arguments);
  arguments.require({"--vocabulary", "--link"}, false, "checkpoint directories", given.head);
  const AnyModel any(given.head, arguments.head);
  const bool retrains = given.delta > 0 || given.budget > 0, amortises = given.amortise != "none";
  if (any.file().family == Family::Joint && (retrains || amortises || asks_for_ladder(arguments)))
    throw Error(
        "models of alternatives can be normalised without loss only; leave out --delta, --budget, "
        "--amortise, --within and --max-cost");
  const StatesPlace place = states_place(given, any);
  const std::string& states = place.path;
  const std::string out = normalized_path(given.out, any.path());
  check_normalized_path(out, any, {states, arguments.reader.options.labels_path});
  const auto source = open_examples(any, states, arguments.reader.options, place.name);
  if (source->examples() < 2)
    throw_error("{}: found {} state, expected at least 2 (and rather 10 per feature)", states,
                source->examples());
  if (given.targets == "labels" && !source->has_targets())
    throw Error("--targets labels: the states have no labels; give them with --labels FILE");
  if (!arguments.common.quiet) {
    note(fmt::format("{}: {} classes, {} features; {}: {} states", any.path(), grouped(any.file().classes),
                     grouped(any.file().features), states, grouped(source->examples())));
  }

  note_before(arguments, place, "states", any.file().normalizer.exists() && !amortises ? "b(h)" : "");
  if (any.file().ladder.exists() && !asks_for_ladder(arguments))
    warning(fmt::format("the ladder stored in {} fits no more and is left out; --within 0.1 fits a new one",
                        any.path()));
  Normalization work(arguments, any, *source);
  ModelFile model = work.lossless();
  if (retrains) work.retrained(model);
  if (amortises) work.amortised(model);
  if (work.fits_ladder()) work.laddered(model, place.part);
  save_normalized(any, std::move(model), work.report().last(), out);
  const NormalizePlaces places{any.path(), states, out, place.part};
  Json json = normalize_json(work.report());
  json["device"] = used_device();
  put_out_normalization(arguments, places, normalize_document(work.report(), any, places),
                        {std::move(json), normalize_text(work.report())});
  const auto& retraining = work.report().retraining;
  const auto& ladder = work.report().ladder;
  return (retraining && !retraining->reached) || (ladder && ladder->is_exact()) ? kNotReached : 0;
}

}  // namespace selfnorm::cli
