#include "lm/lm_score.h"

#include <fmt/format.h>

#include "classifier/runtime_model.h"
#include "classifier/score_kind.h"
#include "data/corpus/sentence_reader.h"
#include "data/corpus/word_vocabulary.h"
#include "output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kWordsAtOnce = 4096;

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class SentenceSheet {
 public:
  SentenceSheet(bool json, bool totals, const char* kind) : json_(json), totals_(totals), kind_(kind) {}

  void word(const std::string& text, double log_prob, bool is_unknown) {
    open();
    if (tokens_ == 0 && json_ && !totals_) print(", \"words\": [");
    total_ += log_prob;
    unknown_ += is_unknown ? 1 : 0;
    if (json_ && !totals_) {
      print(fmt::format("{}{{\"word\":{},\"log_prob\":{}{}}}", tokens_ > 0 ? "," : "", json_text(text),
                        log_prob, is_unknown ? ",\"unknown\":true" : ""));
    } else if (!totals_) {
      print(fmt::format("{}\t{}\t{}\t{}{}\n", sentence_, escaped(text), log_prob, kind_,
                        is_unknown ? "\tunknown" : ""));
    }
    ++tokens_;
  }
  void end_sentence() {
    if (json_) {
      print(fmt::format("{}, \"log_prob\":{}, \"tokens\":{}, \"unknown\":{}}}", totals_ ? "" : "]", total_,
                        tokens_, unknown_));
    } else {
      print(fmt::format("{}\t<total>\t{}\t{}\t{}\t{}\n", sentence_, total_, kind_, tokens_, unknown_));
    }
    is_open_ = false;
    ++sentence_;
    tokens_ = unknown_ = 0;
    total_ = 0;
  }
  void finish() {
    if (sentence_ == 0) print(json_ ? head() : "");
    if (json_) print("\n]}\n");
  }

 private:
  std::string head() const { return fmt::format("{{\"kind\": \"{}\", \"sentences\": [", kind_); }
  // With the first word, so that an error before it leaves standard output empty.
  void open() {
    if (is_open_) return;
    is_open_ = true;
    if (sentence_ == 0) print(json_ ? head() : fmt::format("# {}\n", kind_));
    if (json_) print(fmt::format("{}  {{\"sentence\":{}", sentence_ == 0 ? "\n" : ",\n", sentence_));
  }

  bool json_, totals_, is_open_ = false;
  const char* kind_;
  uint64_t sentence_ = 0, tokens_ = 0, unknown_ = 0;
  double total_ = 0;
};

// Words wait until there are enough of them or their sentence ends.
class SentenceScorer {
 public:
  SentenceScorer(const RuntimeModel& model, selfnorm_kind kind, SentenceSheet& sheet)
      : model_(model), kind_(kind), sheet_(sheet), history_(model.positions(), model.classes()) {}

  void add(std::string_view text, uint32_t number) {
    contexts_.insert(contexts_.end(), history_.begin(), history_.end());
    history_.erase(history_.begin());
    history_.push_back(number);
    numbers_.push_back(number);
    texts_.emplace_back(text);
    if (numbers_.size() == kWordsAtOnce) score();
  }
  void end_sentence() {
    add(kEndWord, WordVocabulary::kEnd);
    score();
    sheet_.end_sentence();
    history_.assign(model_.positions(), model_.classes());
  }

 private:
  void score() {
    log_prob_.resize(numbers_.size());
    model_.score_contexts(contexts_, numbers_, kind_, log_prob_);
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const bool is_unknown = numbers_[i] == WordVocabulary::kUnknown;
      sheet_.word(texts_[i], log_prob_[i], is_unknown);
    }
    contexts_.clear();
    numbers_.clear();
    texts_.clear();
  }

  const RuntimeModel& model_;
  selfnorm_kind kind_;
  SentenceSheet& sheet_;
  std::vector<uint32_t> history_, contexts_, numbers_;
  std::vector<std::string> texts_;
  std::vector<double> log_prob_;
};

}  // namespace

int score_sentences(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  const ModelHeader header = read_header(given.model, arguments.head);
  if (!given.candidates.empty() || !given.candidates_file.empty() || given.top > 0)
    throw Error(fmt::format(
        "{} is a language model: it scores the words of sentences; leave out --candidates and --top",
        header.path));
  const selfnorm_kind kind = kind_of(given, header.classes, header.has_normalizer);
  const RuntimeModel model(header);
  const WordVocabulary vocabulary(header.schema.labels);
  const bool is_piped = given.data == "-";
  SentenceReader reader(given.data);
  if (!arguments.common.quiet) warn_about_scores(kind, header);
  SentenceSheet sheet(arguments.common.json, given.totals, kind_name(kind));
  SentenceScorer scorer(model, kind, sheet);
  using Token = SentenceReader::Token;
  for (Token token = reader.next(); token != Token::kTextEnd; token = reader.next()) {
    if (token == Token::kWord) {
      scorer.add(reader.word(), vocabulary.number(reader.word()));
      continue;
    }
    scorer.end_sentence();
    if (is_piped) flush_output();  // who asks may be waiting for the answer
  }
  sheet.finish();
  return 0;
}

}  // namespace selfnorm::cli
