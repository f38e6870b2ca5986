#include <fmt/format.h>

#include <algorithm>

#include "classifier/evaluation_report.h"
#include "classifier/ladder_report.h"
#include "commands.h"
#include "data/plausible.h"
#include "family/classifier/network/example_feed.h"
#include "family/lm/lm_evaluation.h"
#include "grammar/option_list.h"
#include "model/encoder.h"
#include "output.h"
#include "run/model_document.h"
#include "run/reading_note.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

// Scores an audit computes for all positions; more than this take a sample of the positions.
constexpr double kAuditedScores = 2e9;
constexpr uint64_t kAuditedTokens = 20'000, kFewestTokens = 2000;
constexpr double kTokenWork = 1e11;  // multiplications that those may take together

void check_options(const LanguageArguments& given) {
  if (given.run.train.empty()) throw Error("train lm needs CORPUS, a text with a sentence a line");
  LanguageOptions{given.run.options, given.order, given.vocabulary}.validate();
}

struct Corpora {
  LearnedCorpus learned;
  std::optional<TokenCorpus> given_valid;
  std::vector<std::string> notes;
  nlohmann::ordered_json record, valid_record;

  const TokenCorpus* valid() const {
    if (given_valid) return &*given_valid;
    return learned.held_out ? &*learned.held_out : nullptr;
  }
  TokenCorpus audited() && {
    return std::move(given_valid ? *given_valid : learned.held_out ? *learned.held_out : learned.train);
  }
};

std::string corpus_text(const std::string& path, const TokenCorpus& corpus) {
  return fmt::format("{}: {} sentences, {} tokens, {} of them <unk>", path_text(path),
                     grouped(corpus.sentences()), grouped(corpus.examples()), grouped(corpus.unknown()));
}

nlohmann::ordered_json corpus_record(const std::string& path, const TokenCorpus& corpus,
                                     const std::string& marks) {
  return {{"path", path},
          {"sentences", corpus.sentences()},
          {"tokens", corpus.examples()},
          {"unknown", corpus.unknown()},
          {"words", corpus.vocabulary()},
          {"hash", fmt::format("{:016x}", hash_bytes(corpus.fingerprint() + marks))}};
}

Corpora read_corpora(const LanguageArguments& given, const std::string& folder) {
  const bool has_valid = !given.run.valid.empty();
  refuse_doubtful(given.run, corpus_doubt(given.run.train));
  const double hold_out =
      has_valid ? 0 : number_or_auto("--hold-out", given.run.hold_out, 0, 0.5).value_or(kHeldOutSentences);
  Corpora out{
      .learned = learn_corpus(
          given.run.train,
          {.vocabulary = given.vocabulary, .hold_out = hold_out, .seed = given.run.options.seed}, folder),
      .given_valid = std::nullopt,
      .notes = {},
      .record = {},
      .valid_record = {}};
  const WordVocabulary& vocabulary = out.learned.vocabulary;
  std::string marks;  // of the words and what is held out: other texts may have the same numbers
  for (const std::string& word : vocabulary.words()) marks += word + "\n";
  if (out.learned.held_out) marks += out.learned.held_out->fingerprint();
  out.notes.push_back(fmt::format("read {}; {} words", corpus_text(given.run.train, out.learned.train),
                                  grouped(vocabulary.size())));
  out.record = corpus_record(given.run.train, out.learned.train, marks);
  if (has_valid) {
    out.given_valid = read_corpus(given.run.valid, vocabulary, folder);
    out.notes.push_back("validation: " + corpus_text(given.run.valid, *out.given_valid));
    out.valid_record = corpus_record(given.run.valid, *out.given_valid, "");
  } else if (out.learned.held_out) {
    out.notes.push_back(corpus_text("held out", *out.learned.held_out));
  }
  return out;
}

class LanguageTraining final : public Training {
 public:
  explicit LanguageTraining(const Arguments& arguments)
      : arguments_(arguments), given_(arguments.language), options_(given_.run.options) {
    check_options(given_);
  }

  ReadData read(const std::string& folder) override {
    corpora_ = read_corpora(given_, folder);
    plan_ = language_plan(corpora_->learned, given_.order);
    if (std::string note =
            take_embeddings(options_.encoder, StringIndex(corpora_->learned.vocabulary.words()), plan_);
        !note.empty())
      corpora_->notes.push_back(std::move(note));
    if (corpora_->learned.train.unknown() == 0)
      corpora_->notes.push_back(fmt::format(
          "no word of the training text is <unk>, so nothing teaches how likely an unknown word is; a larger "
          "--min-count than {} would",
          given_.vocabulary.min_count));
    return {.notes = std::move(corpora_->notes),
            .warnings = {},
            .records = {{"data", corpora_->record}, {"valid", corpora_->valid_record}},
            .needs = network_needs(plan_, options_,
                                   {static_cast<double>(corpora_->learned.train.examples()),
                                    static_cast<double>(plan_.positions)},
                                   "use a smaller --dimension, --hidden, --batch or vocabulary (--min-count, "
                                   "--max-vocabulary)")};
  }

  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    const CorpusFeed train(corpora_->learned.train, plan_.positions);
    std::optional<CorpusFeed> valid;
    if (corpora_->valid() != nullptr) valid.emplace(*corpora_->valid(), plan_.positions);
    result_ =
        train_network(train, valid ? &*valid : nullptr, std::move(plan_), options_, checkpoint, observer);
    result_.model.input = ModelInput::Context;
    result_.model.labels = corpora_->learned.vocabulary.words();
    return result_;
  }

  // Of the weights as they will be stored.
  Verdict judge() override {
    ModelFile& model = result_.model;
    round_as_stored(model);
    const TokenCorpus* valid = corpora_->valid();
    const TokenCorpus& corpus = valid ? *valid : corpora_->learned.train;
    const double scores = static_cast<double>(corpus.examples()) * model.classes;
    const bool is_long = scores > kAuditedScores && model.family != Family::Hierarchical;
    const double most = kTokenWork / (static_cast<double>(model.classes) * model.features);
    const uint64_t tokens = std::clamp(static_cast<uint64_t>(most), kFewestTokens, kAuditedTokens);
    evaluation_ = evaluate_language(model, corpus,
                                    {.limit = is_long ? tokens : 0, .threads = arguments_.common.threads});
    Verdict out{.data = valid ? "validation" : "training"};
    out.audit = {{"data", out.data}};
    out.audit.update(language_json(evaluation_, model.log_normalizer));
    out.nll = evaluation_.nll_exact;
    if (valid)
      out.simple =
          frequency_model("the frequencies of the words", corpora_->learned.train.counts(), valid->counts());
    out.table = language_table({{options_.objective.name, evaluation_, {}}}) + language_lines(evaluation_);
    if (valid && !arguments_.ladder.no_ladder && model.family == Family::Multiclass)
      ladder_ = end_with_ladder(arguments_, corpora_->learned.train.examples(),
                                {*ladder_states(model.encoder, *valid, options_.seed),
                                 part_of_valid(given_.run.train, given_.run.valid)},
                                model, out);
    model.audit_json = out.audit.dump();
    return out;
  }

  void save(const std::string& path) const override { save_model(result_.model, path); }

  void show(const std::string& file, ReportDocument& document) override {
    const ModelFile& model = result_.model;
    const RowsPart part =
        corpora_->valid() ? part_of_valid(given_.run.train, given_.run.valid) : RowsPart::kTrained;
    const ShownRun run{.model = model,
                       .file = file,
                       .given = given_.run,
                       .part = part,
                       .numbering = fmt::format("numbered from 0 by position in the {} text",
                                                part == RowsPart::kTrained ? "training" : "held-out")};
    if (model.family == Family::Hierarchical) return add_normalised_run(run, evaluation_, document);
    add_run(run, *corpus_states(model.encoder, std::move(*corpora_).audited()), document);
    if (ladder_) add_ladder(*ladder_, document);
  }

 private:
  const Arguments& arguments_;
  const LanguageArguments& given_;
  const TrainOptions& options_;
  std::optional<Corpora> corpora_;
  EncoderPlan plan_;
  TrainResult result_;
  LanguageEvaluation evaluation_;
  std::optional<LadderFit> ladder_;
};

}  // namespace

std::unique_ptr<Training> language_training(const Arguments& arguments) {
  return std::make_unique<LanguageTraining>(arguments);
}

}  // namespace selfnorm::cli
