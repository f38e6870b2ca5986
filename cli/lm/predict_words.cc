#include <algorithm>
#include <cmath>

#include "answer_sheet.h"
#include "base/atomic_file.h"
#include "base/failure.h"
#include "classifier/runtime_model.h"
#include "commands.h"
#include "data/corpus/sentence_reader.h"
#include "data/corpus/word_vocabulary.h"
#include "data/plausible.h"
#include "math/random.h"
#include "output.h"
#include "run/reading_note.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kNextWords = 5;

// The exact distribution of the word after a text, and words drawn from it.
class Continuation {
 public:
  Continuation(const RuntimeModel& model, const WordVocabulary& vocabulary)
      : model_(model), vocabulary_(vocabulary), all_(model.classes()), log_prob_(model.classes()) {
    for (uint32_t k = 0; k < all_.size(); ++k) all_[k] = k;
    state_.is_sparse = false;
    begin();
  }

  void begin() { history_.assign(model_.positions(), vocabulary_.size()); }
  void add(uint32_t word) {
    history_.erase(history_.begin());
    history_.push_back(word);
  }
  std::vector<Candidate> top(size_t n) {
    encode();
    return model_.top(state_, 0, n, SELFNORM_EXACT);
  }
  std::vector<double> of(const std::vector<uint32_t>& words) {
    encode();
    std::vector<double> out(words.size());
    model_.score(state_, 0, words, SELFNORM_EXACT, out);
    return out;
  }
  // The next word and its log-probability: the most probable one at temperature 0, otherwise k with
  // probability in proportion to p_k^(1/T). Never <unk>, which is no word to read.
  Candidate draw(double temperature, RandomStream& random) {
    encode();
    model_.score(state_, 0, all_, SELFNORM_EXACT, log_prob_);
    uint32_t best = WordVocabulary::kEnd;
    for (uint32_t k = WordVocabulary::kEnd; k < all_.size(); ++k)
      if (log_prob_[k] > log_prob_[best]) best = k;
    if (temperature == 0) return {best, log_prob_[best]};
    double total = 0;
    for (uint32_t k = WordVocabulary::kEnd; k < all_.size(); ++k)
      total += std::exp((log_prob_[k] - log_prob_[best]) / temperature);
    double left = total * random.uniform();
    for (uint32_t k = WordVocabulary::kEnd; k < all_.size(); ++k) {
      left -= std::exp((log_prob_[k] - log_prob_[best]) / temperature);
      if (left < 0) return {k, log_prob_[k]};
    }
    return {best, log_prob_[best]};
  }
  // Up to `longest` words, to the end of the sentence; adds their log-probabilities to `log_prob`.
  std::string text(uint64_t longest, double temperature, RandomStream& random, double& log_prob) {
    std::string out;
    for (uint64_t i = 0; i < longest; ++i) {
      const Candidate next = draw(temperature, random);
      log_prob += next.log_prob;
      if (next.index == WordVocabulary::kEnd) break;
      out.append(out.empty() ? "" : " ").append(vocabulary_.word(next.index));
      add(next.index);
    }
    return out;
  }

 private:
  void encode() {
    state_.dense.values = model_.context_state(history_);
    state_.dense.rows = 1;
    state_.dense.columns = static_cast<uint32_t>(state_.dense.values.size());
  }

  const RuntimeModel& model_;
  const WordVocabulary& vocabulary_;
  std::vector<uint32_t> history_, all_;
  std::vector<double> log_prob_;
  Features state_;
};

// What is printed of each text.
class WordSheet {
 public:
  WordSheet(const Arguments& arguments, const ModelHeader& header, const WordVocabulary& vocabulary)
      : given_(arguments.predict),
        vocabulary_(vocabulary),
        top_(std::min<size_t>(given_.top > 0 ? given_.top : kNextWords, vocabulary.size())),
        sheet_(arguments, columns(), {{"model", header.path}, {"data", given_.data}, {"kind", "exact"}}) {
    for (const std::string& word : given_.candidates) {
      candidates_.push_back(vocabulary.number(word));
      if (candidates_.back() == WordVocabulary::kUnknown && word != kUnknownWord)
        throw_error(
            "--candidates: '{}' is no word of {}; expected words of its training text, or {} for all others",
            word, header.path, kUnknownWord);
    }
  }

  void answer(uint64_t row, const std::string& text, Continuation& model) {
    if (given_.complete > 0)
      complete(row, text, model);
    else if (!candidates_.empty())
      judge(row, model);
    else
      continue_by(row, text, model);
    sheet_.flush();
  }
  void finish() { sheet_.finish(); }

 private:
  std::vector<std::string> columns() const {
    if (given_.complete > 0) return {"row", "text", "log_prob"};
    std::vector<std::string> names{"row", "word", "probability"};
    if (!given_.candidates.empty()) return names.push_back("log_prob"), names;
    for (size_t i = 2; i <= top_; ++i)
      names.insert(names.end(), {fmt::format("word_{}", i), fmt::format("probability_{}", i)});
    return names;
  }
  Json word_json(uint32_t word, double log_prob) const {
    return {{"word", vocabulary_.word(word)}, {"probability", std::exp(log_prob)}, {"log_prob", log_prob}};
  }
  void complete(uint64_t row, const std::string& text, Continuation& model) {
    RandomStream random(given_.options.seed, row);
    double log_prob = 0;
    const std::string more = model.text(given_.complete, given_.temperature, random, log_prob);
    const std::string whole = text + (text.empty() || more.empty() ? "" : " ") + more;
    if (sheet_.is_json())
      sheet_.put(json_line({{"row", row}, {"text", whole}, {"continuation", more}, {"log_prob", log_prob}}));
    else
      sheet_.row({row, whole, log_prob});
  }
  void judge(uint64_t row, Continuation& model) {
    const std::vector<double> log_prob = model.of(candidates_);
    Json words = Json::array();
    for (size_t i = 0; i < candidates_.size(); ++i)
      if (sheet_.is_json())
        words.push_back(word_json(candidates_[i], log_prob[i]));
      else
        sheet_.row({row, given_.candidates[i], std::exp(log_prob[i]), log_prob[i]});
    if (sheet_.is_json()) sheet_.put(json_line({{"row", row}, {"candidates", words}}));
  }
  void continue_by(uint64_t row, const std::string& text, Continuation& model) {
    const std::vector<Candidate> best = model.top(top_);
    if (sheet_.is_json()) {
      Json words = Json::array();
      for (const Candidate& c : best) words.push_back(word_json(c.index, c.log_prob));
      return sheet_.put(json_line({{"row", row}, {"text", text}, {"top", words}}));
    }
    std::vector<AnswerSheet::Cell> cells{row};
    for (const Candidate& c : best) {
      cells.emplace_back(std::string(vocabulary_.word(c.index)));
      cells.emplace_back(std::exp(c.log_prob));
    }
    sheet_.row(std::move(cells));
  }

  const PredictArguments& given_;
  const WordVocabulary& vocabulary_;
  size_t top_;
  std::vector<uint32_t> candidates_;
  AnswerSheet sheet_;
};

}  // namespace

// A line of DATA is the start of a sentence: its words are separated by white space, as in training. CSV: the
// next words as word, probability, word_2, probability_2, ...; with --candidates a line for each of them;
// with --complete the text continued.
int predict_words(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  if (int(given.top > 0) + int(!given.candidates.empty()) + int(given.complete > 0) > 1)
    throw Error("give only one of --top, --candidates and --complete");
  arguments.require({"--temperature", "--seed"}, given.complete > 0, "--complete N", "none");
  const ModelHeader header = read_header(given.model, arguments.head);
  const RuntimeModel model(header);
  const WordVocabulary vocabulary(header.schema.labels.all());
  Continuation continuation(model, vocabulary);
  WordSheet sheet(arguments, header, vocabulary);
  warn_of_doubt(given.data, corpus_doubt(given.data));
  SentenceReader reader(given.data);
  uint64_t row = 0;
  std::string text;
  using Token = SentenceReader::Token;
  for (Token token = reader.next(); token != Token::kTextEnd; token = reader.next()) {
    if (token == Token::kWord) {
      continuation.add(vocabulary.number(reader.word()));
      text.append(text.empty() ? "" : " ").append(reader.word());
      continue;
    }
    sheet.answer(row++, text, continuation);
    continuation.begin();
    text.clear();
  }
  sheet.finish();
  return 0;
}

// Sentences drawn from the model, word by word: one a line.
int sample_sentences(const Arguments& arguments) {
  const SampleArguments& given = arguments.sample;
  const ModelHeader header = read_header(given.model, arguments.head);
  const RuntimeModel model(header);
  const WordVocabulary vocabulary(header.schema.labels.all());
  Continuation continuation(model, vocabulary);
  std::string lines;
  Json sentences = Json::array();
  for (uint64_t i = 0; i < given.options.count; ++i) {
    RandomStream random(given.options.seed, i);
    double log_prob = 0;
    continuation.begin();
    const std::string text = continuation.text(given.longest, given.temperature, random, log_prob);
    sentences.push_back({{"text", text}, {"log_prob", log_prob}});
    lines += text + "\n";
  }
  if (!given.out.empty()) AtomicFile::write_file(given.out, lines);
  if (arguments.common.json) {
    Json report = {{"model", header.path}, {"n", given.options.count}, {"seed", given.options.seed}};
    if (given.out.empty())
      report["sentences"] = sentences;
    else
      report["out"] = given.out;
    print_json(report);
  } else if (given.out.empty()) {
    print(lines);
  }
  return 0;
}

}  // namespace selfnorm::cli
