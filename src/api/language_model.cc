#include "selfnorm/language_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "api/memory_file.h"
#include "api/rows.h"
#include "api/training_options.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "data/corpus/sentence_reader.h"
#include "data/corpus/token_corpus.h"
#include "family/classifier/network/example_feed.h"
#include "family/classifier/network/network_trainer.h"
#include "family/lm/lm_evaluation.h"
#include "selfnorm.h"

namespace selfnorm {

struct LanguageModel::Content {
  ModelFile model;
  std::vector<std::string> words;
  std::string bytes;  // of the same as a file
  std::unique_ptr<selfnorm_model, void (*)(selfnorm_model*)> scorer{nullptr, selfnorm_close};

  explicit Content(ModelFile from)
      : model(std::move(from)), words(model.labels.all()), bytes(model_bytes(model, "a language model")) {
    selfnorm_model* opened = nullptr;
    check(selfnorm_open_memory(bytes.data(), bytes.size(), &opened));
    scorer.reset(opened);
  }
  static void check(selfnorm_status status) {
    if (status != SELFNORM_OK) throw Error(selfnorm_error_message());
  }
};

namespace {

MemoryFile sentence_file(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text.append(sentence).append(1, '\n');
  if (static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) != sentences.size())
    throw Error("a sentence holds an end of line; expected one sentence each");
  return MemoryFile("the sentences", text);
}

std::string temporary_folder() {
  std::error_code none;
  const std::filesystem::path found = std::filesystem::temp_directory_path(none);
  return none ? "/tmp" : found.string();
}

SentenceState public_state(const selfnorm_state& state) {
  SentenceState out;
  std::copy_n(state.words, state.positions, out.words.begin());
  return out;
}

}  // namespace

LanguageModel LanguageModel::train(const std::vector<std::string>& sentences, const Options& given,
                                   const Run& run) {
  refuse_weights(run);
  LanguageOptions options;
  TrainingLadder ladder;
  language_model_option_table(options, ladder).set(given);
  options.validate();
  training_ladder_option_table(ladder).validate();
  const LearnedCorpus learned = sentence_file(sentences).read_by([&](const std::string& path) {
    return learn_corpus(path,
                        {.vocabulary = options.vocabulary,
                         .hold_out = hold_out_share(run, kHeldOutSentences),
                         .seed = options.training.seed},
                        temporary_folder());
  });
  EncoderPlan plan = language_plan(learned, options.order);
  if (const std::string note =
          take_embeddings(options.training.encoder, StringIndex(learned.vocabulary.words()), plan);
      !note.empty())
    observer_of(run).on_note(note);
  const CorpusFeed train(learned.train, plan.positions);
  std::optional<CorpusFeed> valid;
  if (learned.held_out) valid.emplace(*learned.held_out, plan.positions);
  TrainResult result = train_network(train, valid ? &*valid : nullptr, std::move(plan), options.training,
                                     run.checkpoint, observer_of(run));
  check_ending(result, run);
  result.model.input = ModelInput::Context;
  result.model.labels = learned.vocabulary.words();
  ModelFile& model = result.model;
  round_as_stored(model);
  if (learned.held_out && !ladder.no_ladder && model.family == Family::Multiclass)
    model.ladder = fit_ladder(model, *ladder_states(model.encoder, *learned.held_out, options.training.seed),
                              ladder_after(options.training, learned.train.examples(), model,
                                           ladder.options(options.training.seed)))
                       .ladder;
  return LanguageModel(std::make_shared<Content>(std::move(result.model)));
}

LanguageModel LanguageModel::load(const std::string& path) {
  ModelFile model = load_model(model_file_of(path));
  if (model.input != ModelInput::Context)
    throw_error("{}: expected a language model; 'selfnorm info' says what it is", path);
  return LanguageModel(std::make_shared<Content>(std::move(model)));
}

void LanguageModel::save(const std::string& path) const { save_model(content_->model, path); }

uint32_t LanguageModel::order() const { return selfnorm_order(content_->scorer.get()); }

const std::vector<std::string>& LanguageModel::vocabulary() const { return content_->words; }

std::vector<double> LanguageModel::scored(const std::string& sentence, int kind) const {
  const selfnorm_model* model = content_->scorer.get();
  selfnorm_state state;
  Content::check(selfnorm_begin_sentence(model, &state));
  std::vector<double> out;
  const auto take = [&](uint32_t word) {
    Content::check(selfnorm_score_word(model, &state, word, kind, &out.emplace_back(), &state));
  };
  const MemoryFile file = sentence_file({sentence});
  SentenceReader words(file.path());
  while (words.next() == SentenceReader::Token::kWord) {
    uint32_t word = 0;
    Content::check(selfnorm_word_id(model, words.word().data(), words.word().size(), &word));
    take(word);
  }
  uint32_t end = 0;
  Content::check(selfnorm_end_of_sentence(model, &end));
  take(end);
  return out;
}

std::vector<double> LanguageModel::log_probabilities(const std::string& sentence) const {
  return scored(sentence, SELFNORM_EXACT);
}

std::vector<double> LanguageModel::raw_log_probabilities(const std::string& sentence) const {
  return scored(sentence, SELFNORM_RAW);
}

bool LanguageModel::has_word(const std::string& word) const {
  uint32_t number = 0;
  return selfnorm_class_of_label(content_->scorer.get(), word.data(), word.size(), &number) == SELFNORM_OK;
}

SentenceState LanguageModel::begin_sentence() const {
  selfnorm_state state;
  Content::check(selfnorm_begin_sentence(content_->scorer.get(), &state));
  return public_state(state);
}

SentenceState LanguageModel::no_context() const {
  uint32_t unknown = 0;
  Content::check(selfnorm_word_id(content_->scorer.get(), "", 0, &unknown));
  SentenceState out;
  std::fill_n(out.words.begin(), order() - 1, unknown);
  return out;
}

double LanguageModel::score(const SentenceState& in, const std::string& word, SentenceState& out,
                            bool is_exact) const {
  const selfnorm_model* model = content_->scorer.get();
  selfnorm_state before{.positions = order() - 1, .words = {}}, after;
  std::copy_n(in.words.begin(), before.positions, before.words);
  uint32_t number = 0;
  double found = 0;
  Content::check(selfnorm_word_id(model, word.data(), word.size(), &number));
  Content::check(
      selfnorm_score_word(model, &before, number, is_exact ? SELFNORM_EXACT : SELFNORM_RAW, &found, &after));
  out = public_state(after);
  return found;
}

LanguageQuality LanguageModel::evaluate(const std::vector<std::string>& sentences) const {
  const TokenCorpus corpus = sentence_file(sentences).read_by([&](const std::string& path) {
    return read_corpus(path, WordVocabulary(vocabulary()), temporary_folder());
  });
  const LanguageEvaluation found = evaluate_language(content_->model, corpus);
  return {.words = found.tokens,
          .unknown = found.unknown,
          .perplexity_exact = std::exp(found.nll_exact),
          .perplexity_raw = std::exp(found.nll_raw),
          .log_z_rms = found.log_z.rms};
}

}  // namespace selfnorm
