#include <cmath>

#include "answer_sheet.h"
#include "base/failure.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/tagger.h"
#include "data/input/source.h"
#include "data/plausible.h"
#include "normalizer/crf/crf_scorer.h"
#include "output.h"
#include "run/reading_note.h"

namespace selfnorm::cli {
namespace {

constexpr const char* kTokeniser =
    "raw sentences, one a line: words are split at white space, and marks around them are words of their own";

bool is_blank_byte(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// The bytes of the mark of punctuation at the start (or the end) of a word; 0: there is none.
size_t mark_length(std::string_view word, bool at_end) {
  for (const std::string_view mark :
       {".", ",", ";", ":",      "!",      "?",      "\"",     "'",      "(",      ")",      "[",
        "]", "{", "}", "\u2026", "\u201c", "\u201d", "\u201e", "\u2018", "\u2019", "\u00ab", "\u00bb"})
    if (at_end ? word.ends_with(mark) : word.starts_with(mark)) return mark.size();
  return 0;
}

// A word that is nothing but marks ("...") stays whole.
void add_tokens(std::string_view word, std::string& out) {
  const auto add = [&out](std::string_view token) { out.append(token).append(1, '\n'); };
  size_t begin = 0, end = word.size();
  while (const size_t n = begin < end ? mark_length(word.substr(begin, end - begin), false) : 0) begin += n;
  if (begin == end) return add(word);
  while (const size_t n = mark_length(word.substr(begin, end - begin), true)) end -= n;
  for (size_t i = 0; i < begin; i += mark_length(word.substr(i), false))
    add(word.substr(i, mark_length(word.substr(i), false)));
  add(word.substr(begin, end - begin));
  for (size_t i = end; i < word.size(); i += mark_length(word.substr(i), false))
    add(word.substr(i, mark_length(word.substr(i), false)));
}

// Lines of text as columns of one word, a blank line after each.
class RawSentences : public ByteSource {
 public:
  explicit RawSentences(std::unique_ptr<ByteSource> lines) : lines_(std::move(lines)) {}

  size_t read(char* to, size_t n) override {
    while (given_ == ready_.size()) {
      ready_.clear();
      given_ = 0;
      char chunk[4096];
      const size_t got = lines_->read(chunk, sizeof chunk);
      waiting_.append(chunk, got);
      if (got == 0 && waiting_.empty()) return 0;
      if (got == 0) waiting_ += '\n';
      for (size_t end; (end = waiting_.find('\n')) != std::string::npos; waiting_.erase(0, end + 1))
        add_sentence(std::string_view(waiting_).substr(0, end));
    }
    const size_t got = ready_.copy(to, n, given_);
    given_ += got;
    return got;
  }

 private:
  void add_sentence(std::string_view line) {
    for (size_t i = 0; i < line.size();) {
      const size_t begin = i;
      while (i < line.size() && !is_blank_byte(line[i])) ++i;
      if (i > begin) add_tokens(line.substr(begin, i - begin), ready_);
      while (i < line.size() && is_blank_byte(line[i])) ++i;
    }
    ready_ += '\n';
  }

  std::unique_ptr<ByteSource> lines_;
  std::string waiting_, ready_;
  size_t given_ = 0;
};

// An input with the start that was looked at before it.
class StartedSource : public ByteSource {
 public:
  explicit StartedSource(std::unique_ptr<Input> input) : input_(std::move(input)) {
    char chunk[4096];
    while (!is_ended_ && first_line().empty()) {
      const size_t n = input_->read(chunk, sizeof chunk);
      start_.append(chunk, n);
      is_ended_ = n == 0;
    }
    if (start_.starts_with("\xEF\xBB\xBF")) start_.erase(0, 3);
  }
  // The first line with something in it, of what was read.
  std::string_view first_line() const {
    const size_t begin = start_.find_first_not_of(" \t\r\n");
    const size_t end = start_.find('\n', std::min(begin, start_.size()));
    if (begin == std::string::npos) return {};
    return end == std::string::npos && !is_ended_ ? std::string_view()
                                                  : std::string_view(start_).substr(begin, end - begin);
  }
  size_t read(char* to, size_t n) override {
    const size_t got = start_.copy(to, n, given_);
    given_ += got;
    return got > 0 ? got : input_->read(to, n);
  }

 private:
  std::unique_ptr<Input> input_;
  std::string start_;
  size_t given_ = 0;
  bool is_ended_ = false;
};

// Words alone; the label would be the second column.
bool reads_words(const SequenceEncoder& encoder) {
  return encoder.format == SequenceFormat::columns && encoder.columns == 2 && encoder.target == 1;
}

// Several words without a tab, not "word LABEL".
bool is_sentence(std::string_view line, const std::vector<std::string>& labels) {
  if (line.find('\t') != std::string_view::npos || line.starts_with('#')) return false;
  const size_t blank = line.find_last_of(' ');
  if (blank == std::string_view::npos) return false;
  const bool has_two = line.find_first_not_of(' ', line.find(' ')) == blank + 1;
  return !has_two || std::ranges::find(labels, line.substr(blank + 1)) == labels.end();
}

SequenceEncoder word_encoder(const SequenceEncoder& own, const std::string& model) {
  SequenceEncoder encoder = own;
  try {
    if (own.format == SequenceFormat::conllu) encoder = encoder_for(own, SequenceFormat::columns);
  } catch (const Error&) {
    encoder.columns = 0;
  }
  if (!reads_words(encoder))
    throw_error(
        "{}: the model reads more of a word than the word itself, which raw sentences do not have; "
        "give DATA with the columns it was trained on",
        model);
  return encoder;
}

}  // namespace

// CSV: sentence, token, word, label, probability: the label of the most probable labelling, and the
// probability that this word has it.
int predict_tags(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  const std::string& format = arguments.reader.format;
  CrfModel model = open_crf(given.model, format == "sentences" ? "auto" : format).model;
  warn_of_doubt(given.data, sentences_doubt(given.data));
  auto input = Input::open(given.data, Headers::none);
  const std::string name = input->name();
  auto started = std::make_unique<StartedSource>(std::move(input));
  const bool looks_raw = format == "auto" && is_sentence(started->first_line(), model.encoder.labels);
  const bool is_raw =
      format == "sentences" || (looks_raw && model.encoder.format != SequenceFormat::attributes);
  std::unique_ptr<ByteSource> source = std::move(started);
  if (is_raw) {
    model.encoder = word_encoder(model.encoder, given.model);
    source = std::make_unique<RawSentences>(std::move(source));
    note(fmt::format("read {} as {}", name, kTokeniser));
  }
  SequenceStream stream(Input::from(name, std::move(source)), model.encoder, false);
  const size_t word_column = model.encoder.format == SequenceFormat::conllu ? 1 : 0;
  const std::vector<std::string>& labels = model.encoder.labels;
  TagArguments decoding;
  decoding.marginals = true;
  decoding.score = "exact";
  const PairFactors<float> factors = transition_factors<float>(model.shape, model.theta);
  Tagger tagger(model, factors, decoding);
  AnswerSheet sheet(arguments, {"sentence", "token", "word", "label", "probability"},
                    {{"model", given.model}, {"data", given.data}, {"kind", "exact"}}, "sentences");
  ReadSentence next;
  uint64_t number = 0;
  for (; stream.next(next.data, next.text); ++number, next = {}) {
    const TaggedSentence tagged = tagger(std::move(next), number);
    const std::vector<uint32_t>& best = tagged.labellings[0].labels;
    Json tokens = Json::array();
    for (size_t t = 0; t < best.size(); ++t) {
      const double p = tagged.marginals[t * labels.size() + best[t]];
      const auto& fields = tagged.text.tokens[t];
      const std::string word = word_column < fields.size() ? fields[word_column] : "";
      if (sheet.is_json())
        tokens.push_back({{"word", word}, {"label", labels[best[t]]}, {"probability", p}});
      else
        sheet.row({number, uint64_t{t}, word, labels[best[t]], p});
    }
    if (sheet.is_json())
      sheet.put(json_line({{"sentence", number}, {"log_prob", tagged.log_prob[0]}, {"tokens", tokens}}));
    sheet.flush();
  }
  sheet.finish();
  if (is_raw)
    note_no_sentence(given.data, number, "a sentence a line");
  else
    note_no_sentence(given.data, number);
  return 0;
}

}  // namespace selfnorm::cli
