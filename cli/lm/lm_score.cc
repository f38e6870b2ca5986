#include <fmt/format.h>

#include <utility>

#include "classifier/runtime_model.h"
#include "commands.h"
#include "data/corpus/sentence_reader.h"
#include "data/corpus/word_vocabulary.h"
#include "gpu/device.h"
#include "output.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kWordsAtOnce = 4096;

// Lines go out word by word, an object when its sentence ends.
class SentenceSheet {
 public:
  SentenceSheet(bool json, bool totals, const ServedKind& served)
      : totals_(totals), kind_(served.name), sheet_(json, "# " + served.text(), served.json(), "sentences") {}

  void word(const std::string& text, double log_prob, bool is_unknown) {
    total_ += log_prob;
    ++tokens_;
    unknown_ += is_unknown ? 1 : 0;
    if (totals_) return;
    if (!sheet_.is_json()) {
      std::vector<RowSheet::Field> fields{{"", sentence_}, {"", text}, {"", log_prob}, {"", kind_}};
      if (is_unknown) fields.push_back({"", "unknown"});
      return sheet_.row(fields);
    }
    words_.push_back({{"word", text}, {"log_prob", log_prob}});
    if (is_unknown) words_.back()["unknown"] = true;
  }
  void end_sentence() {
    if (sheet_.is_json()) {
      Json object = {{"sentence", sentence_}};
      if (!totals_) object["words"] = std::exchange(words_, Json::array());
      object.update({{"log_prob", total_}, {"tokens", tokens_}, {"unknown", unknown_}});
      sheet_.put(json_line(object));
    } else {
      sheet_.row(
          {{"", sentence_}, {"", "<total>"}, {"", total_}, {"", kind_}, {"", tokens_}, {"", unknown_}});
    }
    ++sentence_;
    tokens_ = unknown_ = 0;
    total_ = 0;
  }
  void finish() {
    if (sheet_.is_json() || sentence_ > 0) sheet_.finish();
  }

 private:
  bool totals_;
  std::string kind_;
  RowSheet sheet_;
  uint64_t sentence_ = 0, tokens_ = 0, unknown_ = 0;
  double total_ = 0;
  Json words_ = Json::array();  // of the sentence, with --json
};

// Words wait until there are enough of them or their sentence ends.
class SentenceScorer {
 public:
  SentenceScorer(const RuntimeModel& model, int kind, SentenceSheet& sheet)
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
  int kind_;
  SentenceSheet& sheet_;
  std::vector<uint32_t> history_, contexts_, numbers_;
  std::vector<std::string> texts_;
  std::vector<double> log_prob_;
};

}  // namespace

// TSV: after a line "# KIND" or "# KIND: RUNG, certified ...", lines
// "sentence<TAB>word<TAB>log_prob<TAB>kind", with a fifth field "unknown" where the word was scored as <unk>;
// the last word of a sentence is </s>, and then comes
// "sentence<TAB><total><TAB>log_prob<TAB>kind<TAB>tokens<TAB>unknown". Sentences count from 0.
int score_sentences(const Arguments& arguments) {
  refuse_device("the words of a language model are scored on the CPU");
  const ScoreArguments& given = arguments.score;
  const ModelHeader header = read_header(given.model, arguments.head);
  const RuntimeModel model(header);
  const ServedKind served = served_kind(given, arguments.ladder, model);
  const WordVocabulary vocabulary(header.schema.labels.all());
  const bool is_piped = given.data == "-";
  SentenceReader reader(given.data);
  warn_about_scores(served, header);
  SentenceSheet sheet(arguments.common.json, given.totals, served);
  SentenceScorer scorer(model, served.kind, sheet);
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
