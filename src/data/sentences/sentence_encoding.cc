#include "data/sentences/sentence_encoding.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "data/input/characters.h"

namespace selfnorm {
namespace {

// Values of 1 alone are not stored.
void add_value(AttributeRows& rows, float value) {
  if (rows.value.empty() && value != 1) rows.value.assign(rows.attribute.size() - 1, 1.0f);
  if (!rows.value.empty() || value != 1) rows.value.push_back(value);
}

// Attributes in at least `min_count` places, in their order; the rows say them by their new numbers.
std::vector<std::string> frequent(const StringIndex& index, uint32_t min_count, AttributeRows& rows) {
  std::vector<uint64_t> count(index.size());
  for (const uint32_t a : rows.attribute) ++count[a];
  std::vector<std::string> kept;
  std::vector<uint32_t> number(index.size(), AttributeNumbers::kNone);
  for (uint32_t a = 0; a < index.size(); ++a) {
    if (count[a] < min_count) continue;
    number[a] = static_cast<uint32_t>(kept.size());
    kept.emplace_back(index[a]);
  }
  uint64_t to = 0, from = 0;
  for (uint64_t r = 0; r < rows.rows(); ++r) {
    for (; from < rows.begin[r + 1]; ++from) {
      if (number[rows.attribute[from]] == AttributeNumbers::kNone) continue;
      rows.attribute[to] = number[rows.attribute[from]];
      if (!rows.value.empty()) rows.value[to] = rows.value[from];
      ++to;
    }
    rows.begin[r + 1] = to;
  }
  rows.attribute.resize(to);
  if (!rows.value.empty()) rows.value.resize(to);
  if (std::all_of(rows.value.begin(), rows.value.end(), [](float v) { return v == 1; })) rows.value.clear();
  return kept;
}

std::string some_labels(const StringIndex& labels) {
  constexpr uint32_t kShown = 20;
  std::string text;
  for (uint32_t k = 0; k < labels.size() && k < kShown; ++k)
    text += (k == 0 ? "" : ", ") + quoted_text(labels[k]);
  return text + (labels.size() > kShown ? ", ..." : "");
}

AttributeNumbers numbers_of(SentenceEncoding::Words words, const std::vector<std::string>& list) {
  return words == SentenceEncoding::Words::learned ? AttributeNumbers() : AttributeNumbers(list);
}

}  // namespace

SentenceEncoding::SentenceEncoding(const SequenceEncoder& encoder, Words words, uint32_t columns)
    : encoder_(encoder),
      is_learning_(words == Words::learned),
      has_labels_(columns == encoder.columns),
      labels_(encoder.labels),
      unigrams_(numbers_of(words, encoder.unigrams)),
      bigrams_(numbers_of(words, encoder.bigrams)),
      unigram_(encoder.templates, false, has_labels_ ? TemplateExpansion::kNoColumn : encoder.target),
      bigram_(encoder.templates, true, has_labels_ ? TemplateExpansion::kNoColumn : encoder.target) {}

void SentenceEncoding::append(const TokenLines& sentence, const Source& source, Sequences& out) {
  const bool is_attributes = encoder_.format == SequenceFormat::attributes;
  const bool has_bigrams = !bigram_.empty() && (is_learning_ || !encoder_.bigrams.empty());
  if (!is_attributes) unigram_.begin(sentence);
  if (has_bigrams) bigram_.begin(sentence);
  for (size_t t = 0; t < sentence.size(); ++t) {
    if (is_attributes && (source.labels != Labels::required || source.keeps_unseen))
      check_first_field(sentence, t, source);
    out.label.push_back(label(sentence, t, source, out.unseen));
    if (is_attributes)
      append_fields(sentence, t, source, out.unigram);
    else
      append_expanded(unigram_, t, unigrams_, out.unigram);
    if (has_bigrams && t == 0) out.bigram.begin.push_back(out.bigram.attribute.size());
    if (has_bigrams && t > 0) append_expanded(bigram_, t, bigrams_, out.bigram);
  }
  out.sentence_begin.push_back(out.sentence_begin.back() + sentence.size());
}

// Of attributes it is a label or empty, even where labels are not looked at.
void SentenceEncoding::check_first_field(const TokenLines& sentence, size_t token,
                                         const Source& source) const {
  const std::string_view text = sentence.field(token, 0);
  if (text.empty() || labels_.find(text)) return;
  AttributeField field;
  const bool is_attribute = sentence.fields(token) == 1 ||
                            (parse_attribute(text, field).empty() && unigrams_.index().find(field.name));
  if (is_attribute)
    throw_at(source.name, sentence.line(token),
             "found {} where the label stands, which is {}; expected label TAB attribute TAB ...; a line "
             "without a label begins with a tab",
             quoted_text(text),
             sentence.fields(token) == 1 ? "no label of the model and all of the line"
                                         : "an attribute of the model");
}

uint32_t SentenceEncoding::label(const TokenLines& sentence, size_t token, const Source& source,
                                 UnseenTokens& unseen) {
  if (!has_labels_ || source.labels == Labels::ignored) return kNoLabel;
  const std::string_view text = sentence.field(token, encoder_.target);
  if (text.empty()) {
    if (source.labels == Labels::optional) return kNoLabel;
    throw_at(source.name, sentence.line(token),
             "found an empty label in column {} (from 0), expected one for every token; add it, or take the "
             "sentence out",
             encoder_.target);
  }
  const bool is_open =
      text == "_" && encoder_.format == SequenceFormat::conllu && is_conllu_category(encoder_.target);
  if (is_learning_ && is_open)
    throw_at(source.name, sentence.line(token),
             "found _ in column {}, which says that CoNLL-U has no label there, expected one for every token "
             "of training data; take the sentence out, or choose another `target`",
             encoder_.target);
  if (is_learning_) return labels_.add(text);
  const auto known = labels_.find(text);
  if (known) return *known;
  if (text == "_" && source.labels == Labels::optional) return kNoLabel;
  if (source.keeps_unseen && !is_open) {
    if (unseen.tokens++ == 0) unseen.line = sentence.line(token);
    const uint32_t number = unseen_.add(text);
    if (number == unseen.labels.size()) unseen.labels.emplace_back(text);
    return labels_.size() + number;
  }
  throw_at(source.name, sentence.line(token),
           "found the label {} in column {}, which the model has not learned; expected one of its {} labels: "
           "{}; correct it, or train on data that have it",
           quoted_text(text), encoder_.target, labels_.size(), some_labels(labels_));
}

void SentenceEncoding::append_expanded(TemplateExpansion& expansion, size_t token, AttributeNumbers& numbers,
                                       AttributeRows& rows) {
  row_.clear();
  expansion.expand(token, numbers, row_);
  std::sort(row_.begin(), row_.end());
  row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
  rows.attribute.insert(rows.attribute.end(), row_.begin(), row_.end());
  rows.begin.push_back(rows.attribute.size());
}

void SentenceEncoding::append_fields(const TokenLines& sentence, size_t token, const Source& source,
                                     AttributeRows& rows) {
  const size_t fields = sentence.fields(token);
  if (attribute_.size() < fields) attribute_.resize(fields);
  name_.clear();
  for (size_t i = 1; i < fields; ++i) {
    const std::string_view field = sentence.field(token, i);
    if (field.empty()) continue;
    AttributeField& attribute = attribute_[name_.size()];
    const std::string problem = parse_attribute(field, attribute);
    if (!problem.empty()) throw DataError(source.name, sentence.line(token), problem);
    name_.push_back(attribute.name);
  }
  unigrams_.all(name_, row_);
  valued_.clear();
  for (size_t i = 0; i < row_.size(); ++i)
    if (row_[i] != AttributeNumbers::kNone) valued_.emplace_back(row_[i], attribute_[i].value);
  std::sort(valued_.begin(), valued_.end());
  for (size_t i = 0; i < valued_.size();) {
    const uint32_t number = valued_[i].first;
    float sum = 0;
    for (; i < valued_.size() && valued_[i].first == number; ++i) sum += valued_[i].second;
    if (!(std::abs(sum) <= kLargestValue))
      throw_at(source.name, sentence.line(token),
               "found the value {:.6g} of the attribute {}, repeated ones added, expected at most {:.6g} in "
               "size; scale it down",
               sum, quoted_text(unigrams_.index()[number]), kLargestValue);
    rows.attribute.push_back(number);
    add_value(rows, sum);
  }
  rows.begin.push_back(rows.attribute.size());
}

void SentenceEncoding::finish(uint32_t min_count, Sequences& data, SequenceEncoder& encoder) const {
  encoder.labels = labels_.strings();
  encoder.unigrams = frequent(unigrams_.index(), min_count, data.unigram);
  encoder.bigrams = frequent(bigrams_.index(), min_count, data.bigram);
  if (encoder.bigrams.empty()) data.bigram = {};
}

std::string parse_attribute(std::string_view field, AttributeField& attribute) {
  attribute.name.clear();
  attribute.value = 1;
  size_t i = 0;
  for (; i < field.size() && field[i] != ':'; ++i) {
    const bool is_escape =
        field[i] == '\\' && i + 1 < field.size() && (field[i + 1] == ':' || field[i + 1] == '\\');
    attribute.name += field[is_escape ? ++i : i];
  }
  if (attribute.name.empty())
    return fmt::format("found the attribute {}, expected a name before its value", quoted_text(field));
  if (i == field.size()) return {};
  const std::string number(field.substr(i + 1));
  const char* const end = number.data() + number.size();
  if (parse_float(number.data(), end, attribute.value) != end)
    return fmt::format("{} as the value of {}; a colon within a name is written \\:", number_error(number),
                       quoted_text(attribute.name));
  return {};
}

}  // namespace selfnorm
