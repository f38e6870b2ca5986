#include "data/sentences/read_sequences.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/sentences/sentence_encoding.h"
#include "data/sentences/token_reader.h"

namespace selfnorm {
namespace {

using Words = SentenceEncoding::Words;
using Labels = SentenceEncoding::Labels;

[[noreturn]] void fail_without_sentences(const std::string& name) {
  throw DataError(name, 0,
                  "found no sentence; expected a token a line and a blank line between sentences: add some, "
                  "or give another file");
}

constexpr std::array<std::string_view, 10> kConlluNames = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                           "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};

// From 0.
uint32_t target_column(const SequenceOptions& options, const TokenReader& reader, SequenceFormat format,
                       const TokenLines& sentence) {
  const uint32_t columns = reader.columns();
  const uint64_t first_line = sentence.line(0);
  const std::string& target = options.target;
  if (columns < 2)
    throw_at(reader.name(), first_line,
             "found one column, expected a word and its label at least, apart by a tab or blanks; {}",
             joint_advice(sentence.field(0, 0), "add the labels, or give a file that has them"));
  const bool is_conllu = format == SequenceFormat::conllu;
  if (target.empty()) return is_conllu ? kConlluUpos : columns - 1;
  const auto name = std::find(kConlluNames.begin(), kConlluNames.end(), target);
  if (is_conllu && name != kConlluNames.end()) return static_cast<uint32_t>(name - kConlluNames.begin());
  uint32_t column = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), column);
  if (error != std::errc() || end != target.data() + target.size() || column >= columns)
    throw_at(reader.name(), first_line,
             "found {} columns, but the target is column '{}'; expected 0 to {}, counted from 0{}", columns,
             target, columns - 1,
             is_conllu ? ", or a name such as UPOS" : "; without it the last one is taken");
  return column;
}

void check_templates(const SequenceEncoder& encoder, const std::string& templates, const std::string& data) {
  for (const FeatureTemplate& one : encoder.templates.list)
    for (const TemplateItem& item : one.items) {
      if (item.kind == TemplateItem::Kind::literal) continue;
      if (item.column >= encoder.columns)
        throw_at(templates, one.line,
                 "the template names column {}, counted from 0, but {} has {} columns, 0 to {}; expected one "
                 "of them that is not the target, {}",
                 item.column, data, encoder.columns, encoder.columns - 1, encoder.target);
      if (item.column == encoder.target)
        throw_at(templates, one.line,
                 "the template names column {}, counted from 0, which is the target; expected another of the "
                 "{} columns of {}",
                 item.column, encoder.columns, data);
    }
}

std::string default_templates(const SequenceEncoder& encoder) {
  if (encoder.format == SequenceFormat::conllu) return tagging_templates(kConlluForm);
  std::vector<uint32_t> inputs;
  for (uint32_t c = 0; c < encoder.columns; ++c)
    if (c != encoder.target) inputs.push_back(c);
  return inputs.size() == 1 ? tagging_templates(inputs[0]) : chunking_templates(inputs);
}

// All of an encoder but its lists, by the options and the first sentence.
SequenceEncoder resolved(const SequenceOptions& options, const TokenReader& reader, SequenceFormat format,
                         const TokenLines& sentence) {
  const uint64_t first_line = sentence.line(0);
  SequenceEncoder encoder;
  encoder.format = format;
  if (format == SequenceFormat::attributes) {
    if (!options.target.empty() && options.target != "0")
      throw_at(reader.name(), first_line,
               "found an attribute file, whose labels are column 0, but the target is column {}; leave the "
               "target out, or say `format columns`",
               options.target);
    if (!options.templates.empty())
      throw_at(reader.name(), first_line,
               "found an attribute file, to which templates do not apply; leave the templates out, or "
               "say `format columns`");
    return encoder;
  }
  encoder.columns = reader.columns();
  encoder.target = target_column(options, reader, format, sentence);
  const bool is_default = options.templates.empty();
  if (is_default && format == SequenceFormat::conllu && encoder.target == kConlluForm)
    throw_at(reader.name(), first_line,
             "the target is column {} of CoNLL-U, the word form, which is all that the default templates "
             "read; expected another target, or templates of your own",
             kConlluForm);
  const std::string name = is_default                       ? "default templates"
                           : options.templates_name.empty() ? "templates"
                                                            : options.templates_name;
  encoder.templates = parse_templates(is_default ? default_templates(encoder) : options.templates, name);
  check_templates(encoder, name, reader.name());
  encoder.has_transitions = encoder.templates.has_transitions();
  return encoder;
}

// The sentences of a file in the words of an encoder.
class EncodedSentences {
 public:
  EncodedSentences(std::unique_ptr<Input> input, const SequenceEncoder& encoder, Labels labels,
                   bool keeps_unseen)
      : encoder_(encoder),
        labels_(labels),
        keeps_unseen_(keeps_unseen),
        reader_(std::move(input),
                {.format = encoder.format,
                 .columns = encoder.columns,
                 .may_lack_one = labels != Labels::required && encoder.format == SequenceFormat::columns,
                 .keeps_others = labels == Labels::ignored}) {
    check_templates(encoder, "templates of the model", "its data");
  }

  bool next() {
    if (!reader_.next(lines_)) return false;
    if (!encoding_ && encoder_.format == SequenceFormat::columns && reader_.columns() < encoder_.columns)
      refuse_joined_labels();
    if (!encoding_) encoding_.emplace(encoder_, Words::known, reader_.columns());
    return true;
  }
  void append(Sequences& to) { encoding_->append(lines_, {reader_.name(), labels_, keeps_unseen_}, to); }
  const TokenLines& lines() const { return lines_; }
  const std::string& name() const { return reader_.name(); }

 private:
  // Of a file without the labels, as it seems: word;LABEL is no word.
  void refuse_joined_labels() const {
    for (size_t t = 0; t < lines_.size(); ++t) {
      const std::string_view text = lines_.field(t, lines_.fields(t) - 1);
      const size_t joint = text.find_last_of(",;");
      if (joint == std::string_view::npos ||
          std::ranges::find(encoder_.labels, text.substr(joint + 1)) == encoder_.labels.end())
        return;
    }
    throw_at(reader_.name(), lines_.line(0), "found {} in the place of a word; {}",
             quoted_text(lines_.field(0, lines_.fields(0) - 1)),
             joint_advice(lines_.field(0, lines_.fields(0) - 1), ""));
  }

  const SequenceEncoder& encoder_;
  Labels labels_;
  bool keeps_unseen_;
  TokenReader reader_;
  TokenLines lines_;
  std::optional<SentenceEncoding> encoding_;  // once the columns are known
};

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  text = std::string_view(rest, static_cast<size_t>(end - rest));
  return error == std::errc();
}

bool is_kind(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_macro(const TemplateItem& item) { return item.kind != TemplateItem::Kind::literal; }

bool reads_one_column(const FeatureTemplates& templates) {
  std::set<uint32_t> columns;
  for (const FeatureTemplate& one : templates.list)
    for (const TemplateItem& item : one.items)
      if (is_macro(item)) columns.insert(item.column);
  return columns.size() <= 1;
}

void read_column(uint32_t column, FeatureTemplates& templates) {
  for (FeatureTemplate& one : templates.list)
    for (TemplateItem& item : one.items)
      if (is_macro(item)) item.column = column;
}

SequenceEncoder for_attributes(SequenceEncoder encoder) {
  if (!encoder.bigrams.empty())
    throw_error(
        "the model has {} attributes of pairs of labels, which its templates make and attribute files have "
        "not; give it data in the format it was trained on",
        encoder.bigrams.size());
  encoder.templates = {};
  encoder.columns = encoder.target = 0;
  return encoder;
}

}  // namespace

SequenceRead learn_sequences(const std::string& path, const SequenceOptions& options) {
  if (options.min_count == 0) throw Error("found a cut-off of attributes of 0, expected 1 or more");
  std::unique_ptr<Input> input = Input::open(path, Headers::none);
  const SequenceFormat format = options.format == SequenceFormat::automatic
                                    ? sequence_format(input->peek(kFormatSample))
                                    : options.format;
  TokenReader reader(std::move(input), {.format = format, .columns = 0});
  TokenLines sentence;
  if (!reader.next(sentence)) fail_without_sentences(reader.name());
  const uint64_t first_line = sentence.line(0);
  SequenceRead out;
  out.encoder = resolved(options, reader, format, sentence);
  SentenceEncoding encoding(out.encoder, Words::learned, out.encoder.columns);
  const uint32_t last = out.encoder.columns - 1;
  const bool counts_last = format == SequenceFormat::columns && out.encoder.target != last;
  StringIndex last_values;
  do {
    for (size_t t = 0; counts_last && t < sentence.size(); ++t) last_values.add(sentence.field(t, last));
    encoding.append(sentence, {reader.name(), Labels::required}, out.data);
  } while (reader.next(sentence));
  encoding.finish(options.min_count, out.data, out.encoder);
  out.last_values = last_values.size();
  if (out.encoder.labels.size() < 2)
    throw_at(
        reader.name(), first_line,
        "found one label, {}, here and in all {} tokens, expected two at least: is column {} (from 0) the "
        "target, and is the file {}? `target` and `format` say otherwise",
        quoted_text(out.encoder.labels[0]), out.data.positions(), out.encoder.target,
        format == SequenceFormat::conllu       ? "CoNLL-U"
        : format == SequenceFormat::attributes ? "one of attributes"
                                               : "one of columns");
  return out;
}

struct SequenceStream::State : EncodedSentences {
  using EncodedSentences::EncodedSentences;
};

SequenceStream::SequenceStream(const std::string& path, const SequenceEncoder& encoder, bool require_labels)
    : SequenceStream(Input::open(path, Headers::none), encoder, require_labels) {}

SequenceStream::SequenceStream(std::unique_ptr<Input> input, const SequenceEncoder& encoder,
                               bool require_labels)
    : state_(std::make_unique<State>(std::move(input), encoder,
                                     require_labels ? Labels::required : Labels::ignored, false)) {}

SequenceStream::~SequenceStream() = default;

bool SequenceStream::next(Sequences& sentence, SentenceText& text) {
  sentence = {};
  const bool is_sentence = state_->next();
  const TokenLines& lines = state_->lines();
  text.others = lines.others();
  text.mark = lines.mark();
  text.tokens.resize(is_sentence ? lines.size() : 0);
  if (!is_sentence) return false;
  state_->append(sentence);
  for (size_t t = 0; t < lines.size(); ++t) {
    text.tokens[t].resize(lines.fields(t));
    for (size_t c = 0; c < lines.fields(t); ++c) text.tokens[t][c] = lines.field_as_read(t, c);
  }
  return true;
}

Sequences read_sequences(const std::string& path, const SequenceEncoder& encoder, bool require_labels,
                         UnseenLabel unseen) {
  EncodedSentences sentences(Input::open(path, Headers::none), encoder,
                             require_labels ? Labels::required : Labels::optional,
                             unseen == UnseenLabel::kept);
  Sequences out;
  while (sentences.next()) sentences.append(out);
  if (out.sentences() == 0) fail_without_sentences(sentences.name());
  return out;
}

std::string mark_line(const LabellingMark& mark) {
  std::string line = fmt::format("# sentence={} rank={}", mark.sentence, mark.rank);
  if (mark.score) line += fmt::format(" log_prob={} kind={}", mark.score->log_prob, mark.score->kind);
  return line;
}

std::optional<LabellingMark> parse_mark(std::string_view line) {
  LabellingMark mark;
  if (!take(line, "# sentence=") || !take_number(line, mark.sentence)) return {};
  if (!take(line, " rank=") || !take_number(line, mark.rank) || mark.rank == 0) return {};
  if (line.empty()) return mark;
  LabellingMark::Score score{0, {}};
  if (!take(line, " log_prob=") || !take_number(line, score.log_prob) || !std::isfinite(score.log_prob))
    return {};
  if (!take(line, " kind=") || !is_kind(line)) return {};
  score.kind = line;
  mark.score = std::move(score);
  return mark;
}

SequenceEncoder encoder_for(const SequenceEncoder& encoder, SequenceFormat format) {
  SequenceEncoder out = encoder;
  if (format == SequenceFormat::automatic || format == encoder.format) return out;
  if (encoder.format == SequenceFormat::attributes)
    throw Error(
        "the model was trained on attributes and has no templates that make them of columns; give it "
        "attributes");
  out.format = format;
  if (format == SequenceFormat::attributes) return for_attributes(std::move(out));
  const bool is_conllu = format == SequenceFormat::conllu;
  if (is_conllu && encoder.columns == kConlluColumns) return out;
  if (reads_one_column(encoder.templates)) {
    read_column(is_conllu ? kConlluForm : 0, out.templates);
    out.columns = is_conllu ? kConlluColumns : 2;
    out.target = is_conllu ? kConlluUpos : 1;
    return out;
  }
  if (is_conllu)
    throw_error(
        "the templates of the model read several of the {} columns it was trained on, which have no "
        "counterpart in CoNLL-U; give it such columns",
        encoder.columns);
  return out;
}

}  // namespace selfnorm
