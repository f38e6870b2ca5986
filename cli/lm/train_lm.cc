#include <fmt/format.h>

#include "commands.h"
#include "grammar/option_list.h"
#include "interruption.h"
#include "lm/lm_report.h"
#include "output.h"
#include "run/model_document.h"
#include "run/reading_note.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/analysis/lm_evaluation.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/model/encoded_states.h"
#include "selfnorm/train/example_feed.h"

namespace selfnorm::cli {
namespace {

constexpr double kWordHoldOut = 0.05;
constexpr uint32_t kLargestOrder = runtime::kMostPositions + 1;
// Scores an audit computes for all positions; more than this take a sample of the positions.
constexpr double kAuditedScores = 2e9;
constexpr uint64_t kAuditedTokens = 20'000;

void check_options(const LanguageArguments& given) {
  if (given.run.train.empty()) throw Error("train lm needs CORPUS, a text with a sentence a line");
  require_range(given.order >= 2 && given.order <= kLargestOrder, "order", given.order,
                fmt::format("2 to {}", kLargestOrder).c_str());
  given.vocabulary.validate();
  check_training(given.run);
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
  return fmt::format("{}: {} sentences, {} tokens, {} of them <unk>", path, grouped(corpus.sentences()),
                     grouped(corpus.examples()), grouped(corpus.unknown()));
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
  const double hold_out =
      has_valid ? 0 : number_or_auto("--hold-out", given.run.hold_out, 0, 0.5).value_or(kWordHoldOut);
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

NetworkPlan network_plan(const Arguments& arguments, const RunDirectory& run, Corpora& corpora) {
  const LanguageArguments& given = arguments.language;
  const WordVocabulary& vocabulary = corpora.learned.vocabulary;
  const EncoderOptions& encoder = given.run.options.encoder;
  NetworkPlan plan;
  plan.kind = EncoderKind::Context;
  plan.inputs = vocabulary.size() + 1;
  plan.positions = given.order - 1;
  plan.classes = vocabulary.size();
  plan.examples = corpora.learned.train.examples();
  corpora.notes.push_back(
      checked_needs(arguments, run,
                    network_needs(plan, given.run.options,
                                  "use a smaller --dimension, --hidden, --batch or vocabulary (--min-count, "
                                  "--max-vocabulary)")));
  if (encoder.embeddings.empty()) return plan;
  WordVectors vectors =
      read_word_vectors(encoder.embeddings, StringIndex(vocabulary.words()), encoder.dimension);
  corpora.notes.push_back(vectors_text(encoder.embeddings, vectors, vocabulary.size()));
  plan.embedding = std::move(vectors.values);
  plan.embedding.resize(size_t{plan.inputs} * encoder.dimension, std::numeric_limits<float>::quiet_NaN());
  return plan;
}

// Of the weights as they will be stored. Nothing that depends on the clock or the machine may enter the
// model: a resumed run must give the same bytes.
LanguageEvaluation audit(TrainResult& result, const TokenCorpus& corpus, const std::string& data,
                         int threads) {
  round_as_stored(result.model);
  const double scores = static_cast<double>(corpus.examples()) * result.model.classes;
  const bool is_long = scores > kAuditedScores && result.model.family != Family::Hierarchical;
  const LanguageEvaluation evaluation =
      evaluate_language(result.model, corpus, {.limit = is_long ? kAuditedTokens : 0, .threads = threads});
  nlohmann::ordered_json record = {{"data", data}};
  record.update(language_json(evaluation, result.model.log_normalizer));
  result.model.audit_json = record.dump();
  return evaluation;
}

ReportDocument document(const FinishedRun& run, const LanguageEvaluation& evaluation, TokenCorpus corpus) {
  const ModelFile& model = run.result.model;
  if (model.family == Family::Hierarchical) return normalised_run_document(run, evaluation);
  return run_document(run, *corpus_states(model.encoder, std::move(corpus)));
}

}  // namespace

int train_lm_command(const Arguments& arguments) {
  const LanguageArguments& given = arguments.language;
  check_options(given);
  RunDirectory run = run_directory(arguments);
  if (has_nothing_to_resume(arguments, run)) return 0;
  Corpora corpora = read_corpora(given, run.existing_folder());
  const DataRecords records{{"data", corpora.record}, {"valid", corpora.valid_record}};
  check_resumed_data(arguments, run, records);
  NetworkPlan plan = network_plan(arguments, run, corpora);
  if (corpora.learned.train.unknown() == 0)
    corpora.notes.push_back(
        "no word of the training text is <unk>, so nothing teaches how likely an unknown word is; "
        "--min-count 2 "
        "would");
  begin_run(arguments, corpora.notes, records, run);

  const CorpusFeed train(corpora.learned.train, plan.positions);
  std::optional<CorpusFeed> valid;
  if (corpora.valid() != nullptr) valid.emplace(*corpora.valid(), plan.positions);
  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  TrainResult result = train_network(train, valid ? &*valid : nullptr, std::move(plan), given.run.options,
                                     checkpoint_options(given.run, run), observer);
  observer.finish();
  if (result.interrupted) return interrupted();
  warn_about_divergence(result.diverged);
  result.model.input = ModelInput::Context;
  result.model.labels = corpora.learned.vocabulary.words();
  const std::string data = valid ? "validation" : "training";
  const LanguageEvaluation evaluation =
      audit(result, valid ? *corpora.valid() : corpora.learned.train, data, arguments.common.threads);
  if (valid)
    if (warn_about_simple(arguments, evaluation.nll_exact,
                          frequency_model("the frequencies of the words", corpora.learned.train.counts(),
                                          corpora.valid()->counts())))
      result.diverged = true;
  save_result(result, run);
  const RowsPart part = valid ? part_of_valid(given.run.train, given.run.valid) : RowsPart::kTrained;
  const std::string page = write_run_report(arguments, run, [&] {
    return document({.arguments = arguments,
                     .directory = run,
                     .result = result,
                     .part = part,
                     .numbering = fmt::format("numbered from 0 by position in the {} text",
                                              part == RowsPart::kTrained ? "training" : "held-out")},
                    evaluation, std::move(corpora).audited());
  });
  print_report(
      arguments, run, end_of(result),
      {data,
       language_table({{given.run.options.objective.name, evaluation, {}}}) + language_lines(evaluation),
       page});
  return exit_code(result.diverged);
}

}  // namespace selfnorm::cli
