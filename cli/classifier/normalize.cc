#include "base/failure.h"
#include "classifier/ladder_report.h"
#include "classifier/normalize_report.h"
#include "classifier/normalized_file.h"
#include "commands.h"
#include "data/array/array_file.h"
#include "data/example_source.h"
#include "family/classifier/normalize/normalization.h"
#include "gpu/device.h"
#include "output.h"
#include "run/progress_line.h"
#include "selfnorm/checkpoint.h"

namespace selfnorm::cli {
namespace {

constexpr int kNotReached = 3;

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

// Says what goes there where the file is something else.
std::unique_ptr<ExampleSource> open_inputs(const AnyModel& any, const StatesPlace& place,
                                           const ReadOptions& options) {
  try {
    return open_examples(any, place.path, options, place.name);
  } catch (const DataError& error) {
    if (place.part == RowsPart::kTrained) throw;
    throw_error(
        "{}; --states takes {}", error.what(),
        any.head() || any.file().encoder.exists()
            ? fmt::format("hidden states, rows x {} numbers, in npy, npz or safetensors", any.file().features)
            : "data like those that the model was trained on");
  }
}

// What the library does, with what is asked for and a line of progress.
class NormalizeRun {
 public:
  NormalizeRun(const Arguments& arguments, const AnyModel& any, const ExampleSource& states)
      : given_(arguments.normalize),
        arguments_(arguments),
        line_(arguments.common.quiet),
        work_(any.file(), states, options(any)) {
    line_.finish();
  }

  void retrain() {
    RetrainOptions options{.seed = given_.seed};
    if (given_.delta > 0) options.delta = given_.delta;
    if (given_.budget > 0) options.budget = given_.budget;
    uint64_t solve = 0;
    options.on_progress = [&](const RetrainProgress& p) {
      if (p.solve != solve) line_.finish();
      solve = p.solve;
      line_.show({(p.pass - 1) * p.examples + p.done, p.passes * p.examples,
                  fmt::format("examples, retraining {} at alpha {:.3g}", p.solve, p.alpha), true});
    };
    options.use_labels = given_.targets != "teacher";
    work_.retrain(options);
    line_.finish();
    if (const std::string& doubt = work_.report().retraining_doubt; !doubt.empty()) warning(doubt);
  }

  void amortise() {
    AmortiseOptions options;
    options.kind = given_.amortise;
    options.network.hidden = given_.hidden;
    options.network.seed = given_.seed;
    options.on_progress = [&](const AmortiseProgress& p) {
      line_.show({p.done, p.total, "examples, fitting b(h)", true});
    };
    work_.amortise(options);
    line_.finish();
    if (const std::string& doubt = work_.report().amortisation_doubt; !doubt.empty()) warning(doubt);
  }

  void fit_ladder(RowsPart part) {
    LadderOptions options = ladder_options(arguments_.ladder, given_.seed, line_);
    options.certifies = part != RowsPart::kTrained;
    options.from_classes = 0;
    work_.fit_ladder(options);
    line_.finish();
  }

  const NormalizeReport& report() const { return work_.report(); }
  ModelFile take_model() { return work_.take_model(); }

 private:
  NormalizationOptions options(const AnyModel& any) {
    NormalizationOptions out{.hold_out = given_.hold_out, .seed = given_.seed};
    if (asks_for_ladder(arguments_) && !arguments_.has_named({"--hold-out"})) out.hold_out = kHeldOutOfLadder;
    out.round = [&any](ModelFile& model) { round_as_stored(any, model); };
    const Head* head = any.head();
    out.is_stored_in_float32 = head ? keeps_float32(head->kind) && keeps_float32(head->bias_kind)
                                    : any.file().weights == WeightKind::Float32;
    out.on_progress = [this](const std::string& what, uint64_t done, uint64_t of) {
      line_.show({done, of, what});
    };
    return out;
  }

  const NormalizeArguments& given_;
  const Arguments& arguments_;
  ProgressLine line_;
  Normalization work_;
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
  const auto source = open_inputs(any, place, arguments.reader.options);
  if (source->examples() < 2)
    throw_error("{}: found {} state, expected at least 2, and better 10 per feature", states,
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
  NormalizeRun work(arguments, any, *source);
  if (retrains) work.retrain();
  if (amortises) work.amortise();
  if (asks_for_ladder(arguments)) work.fit_ladder(place.part);
  save_normalized(any, work.take_model(), work.report().last(), out);
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
