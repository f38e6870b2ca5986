#include "data/sentences/token_reader.h"

#include <algorithm>
#include <unordered_set>

#include "base/failure.h"
#include "data/input/characters.h"

namespace selfnorm {
namespace {

constexpr size_t kTokenBufferBytes = size_t{1} << 18;
constexpr std::string_view kBlank = " \t\r\v\f";

template <class Visit>
void for_each_field(std::string_view line, Separator separator, Visit visit) {
  if (separator == Separator::tabs || line.find('\t') != std::string_view::npos) {
    for (size_t begin = 0;;) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      visit(trimmed(line.substr(begin, end - begin), kBlank));
      if (end == line.size()) return;
      begin = end + 1;
    }
  }
  for (size_t begin = line.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    visit(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
}

std::string columns_text(size_t n) { return fmt::format("{} column{}", n, n == 1 ? "" : "s"); }

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

bool is_named(std::string_view field) { return field.find_first_of(":=") != std::string_view::npos; }

struct Lines {
  size_t lines = 0, columns = 0, fields = 0;  // fields: all but the first of a line
  size_t named = 0;                           // fields with ':' or '='
  size_t named_first = 0;                     // first fields with them
  std::unordered_set<std::string_view> first, last;
  size_t conllu = 0;  // lines with ten columns and an id
  bool is_first_conllu = false, has_tabs = true, is_ragged = false;

  void add(const std::vector<std::string_view>& field, bool has_tab) {
    const bool is_conllu = has_tab && field.size() == kConlluColumns && begins_with_digit(field[0]);
    if (lines++ == 0) {
      columns = field.size();
      is_first_conllu = is_conllu;
    }
    conllu += is_conllu ? 1 : 0;
    has_tabs &= has_tab;
    is_ragged |= field.size() != columns;
    fields += field.size() - 1;
    named += static_cast<size_t>(std::count_if(field.begin() + 1, field.end(), is_named));
    named_first += is_named(field[0]) ? 1 : 0;
    first.insert(field[0]);
    last.insert(field.back());
  }

  // Labels are the few strings of a file: they stand first in attribute files, last in columns. A last field
  // that is always the same, as a bias is, is no label.
  bool is_attributes() const {
    if (!has_tabs || columns < 2 || 2 * named < fields) return false;
    if (is_ragged || (named == fields && columns > 2)) return true;
    if (columns == 2) return named == fields && named_first < lines && first.size() <= last.size();
    return named_first < lines && (first.size() < last.size() || last.size() == 1);
  }
};

}  // namespace

std::string joint_advice(std::string_view line, const std::string& otherwise) {
  for (size_t i = 1; i + 1 < line.size(); ++i) {
    const bool is_joint = line[i] == ';' || line[i] == ',';
    if (!is_joint || kBlank.find(line[i + 1]) != std::string_view::npos) continue;
    if (is_digits(line.substr(i - 1, 1)) && is_digits(line.substr(i + 1, 1))) continue;
    return fmt::format(
        "if {0} separates columns, make tabs of it (tr '{1}' '\\t' < FILE > NEW); a table is for 'selfnorm "
        "train classifier'",
        quoted_text(line.substr(i, 1)), line[i]);
  }
  return otherwise;
}

std::vector<std::string_view> line_fields(std::string_view line, Separator separator) {
  std::vector<std::string_view> fields;
  for_each_field(line, separator, [&](std::string_view field) { fields.push_back(field); });
  return fields;
}

bool is_conllu_comment(std::string_view line) {
  return line.starts_with('#') && std::count(line.begin(), line.end(), '\t') + 1 != kConlluColumns;
}

void TokenLines::clear() {
  bytes_.clear();
  field_.clear();
  begin_.assign(1, 0);
  line_.clear();
  other_.clear();
  ill_formed_.clear();
  mark_.reset();
}

std::string_view TokenLines::field_as_read(size_t token, size_t column) const {
  const auto found = std::lower_bound(ill_formed_.begin(), ill_formed_.end(), token,
                                      [](const IllFormed& line, size_t t) { return line.token < t; });
  if (found == ill_formed_.end() || found->token != token) return field(token, column);
  return found->fields[column];
}

void TokenLines::add(std::string_view text, uint64_t line, Separator separator) {
  const size_t base = bytes_.size();
  if (is_well_formed(text)) {
    bytes_ += text;
  } else {
    bytes_ += utf8_repaired(text);
    const std::vector<std::string_view> fields = line_fields(text, separator);
    ill_formed_.push_back({size(), {fields.begin(), fields.end()}});
  }
  const std::string_view whole = std::string_view(bytes_).substr(base);
  for_each_field(whole, separator, [&](std::string_view field) {
    field_.push_back({base + static_cast<size_t>(field.data() - whole.data()), field.size()});
  });
  begin_.push_back(field_.size());
  line_.push_back(line);
}

void TokenLines::add_other(std::string_view text) { other_.push_back({size(), std::string(text)}); }

void TokenLines::remove_last() {
  begin_.pop_back();
  field_.resize(begin_.back());
  line_.pop_back();
  if (!ill_formed_.empty() && ill_formed_.back().token == size()) ill_formed_.pop_back();
}

TokenReader::TokenReader(std::unique_ptr<Input> input, const Shape& shape)
    : input_(std::move(input)), shape_(shape), buffer_(kTokenBufferBytes, '\0') {
  input_->skip_byte_order_mark();
  if (shape.format == SequenceFormat::conllu) shape_.columns = kConlluColumns;
}

// The next line without its end; valid until the next call.
bool TokenReader::next_line(std::string_view& line) {
  parts_.clear();
  for (;;) {
    if (at_ == end_) {
      at_ = 0;
      end_ = input_->read(buffer_.data(), buffer_.size());
      if (end_ == 0) {
        if (parts_.empty()) return false;
        line = parts_;
        break;
      }
    }
    const std::string_view rest = std::string_view(buffer_).substr(at_, end_ - at_);
    const size_t size = rest.find('\n');
    if (size != std::string_view::npos) {
      at_ += size + 1;
      line = parts_.empty() ? rest.substr(0, size) : parts_.append(rest.substr(0, size));
      break;
    }
    if (parts_.size() + rest.size() > kLongestLine)
      throw_at(name(), line_ + 1, "the line is longer than {} MiB: is this a text file?", kLongestLine >> 20);
    parts_ += rest;
    at_ = end_;
  }
  ++line_;
  if (line.find('\0') != std::string_view::npos)
    throw DataError(name(), line_, "found a NUL byte, expected text in UTF-8, a token a line");
  line = line.substr(0, line.find_last_not_of('\r') + 1);
  return true;
}

bool TokenReader::next(TokenLines& sentence) {
  sentence.clear();
  uint64_t first_line = 0;  // of the sentence
  bool is_comments = true;  // all that there is of it
  for (std::string_view line; next_line(line);) {
    if (line.find_first_not_of(kBlank) == std::string_view::npos) {
      if (sentence.size() > 0) return true;
      if (first_line > 0) fail_without_token(first_line);
      continue;
    }
    if (first_line == 0) first_line = line_;
    if (sentence.size() == 0)
      if (const auto mark = parse_mark(line)) {
        sentence.set_mark(*mark);
        is_comments = false;
        continue;
      }
    if (shape_.format == SequenceFormat::conllu && is_conllu_comment(line)) {
      if (shape_.keeps_others) sentence.add_other(line);
      continue;
    }
    is_comments = false;
    add_token(line, sentence);
  }
  if (sentence.size() == 0 && !is_comments) fail_without_token(first_line);
  return sentence.size() > 0;
}

void TokenReader::add_token(std::string_view line, TokenLines& sentence) {
  const bool is_columns = shape_.format == SequenceFormat::columns;
  sentence.add(line, line_, is_columns ? Separator::tabs_or_blanks : Separator::tabs);
  const size_t last = sentence.size() - 1;
  if (shape_.format == SequenceFormat::attributes) {
    if (sentence.fields(last) == 1 && sentence.field(last, 0).find_first_of(kBlank) != std::string_view::npos)
      throw_at(name(), line_, "found {} and no tab, expected label TAB attribute TAB attribute ...",
               quoted_text(sentence.field(last, 0)));
    return;
  }
  check_columns(sentence.fields(last), line);
  if (is_columns || is_token(sentence.field(last, 0))) return;
  sentence.remove_last();
  if (shape_.keeps_others) sentence.add_other(line);
}

void TokenReader::fail_without_token(uint64_t first_line) const {
  throw DataError(name(), first_line,
                  "found a sentence without a token, expected one at least before the blank line that ends "
                  "it; take its lines out");
}

bool TokenReader::is_token(std::string_view id) const {
  if (is_digits(id)) return true;
  const size_t mark = id.find_first_of("-.");
  if (mark == std::string_view::npos || !is_digits(id.substr(0, mark)) || !is_digits(id.substr(mark + 1)))
    throw_at(name(), line_,
             "found {} in the first column, expected the id of a CoNLL-U token: 1, 2, ..., a range 1-2 or an "
             "empty node 1.1; for other columns say `format columns`",
             quoted_text(id));
  return false;
}

std::string TokenReader::advice_on(std::string_view line, size_t found, const std::string& otherwise) const {
  return found < shape_.columns || shape_.columns == 1 ? joint_advice(line, otherwise) : otherwise;
}

void TokenReader::check_columns(size_t found, std::string_view line) {
  const bool is_marked = line.starts_with('#');
  if (shape_.format == SequenceFormat::conllu) {
    if (found != kConlluColumns)
      throw_at(
          name(), line_,
          "found {}, separated by tabs, expected the {} of CoNLL-U; for other columns say `format columns`",
          columns_text(found), kConlluColumns);
    return;
  }
  if (first_line_ == 0) {
    first_line_ = line_;
    is_first_marked_ = is_marked;
    const bool lacks_one = shape_.may_lack_one && found + 1 == shape_.columns;
    if (shape_.columns == 0 || lacks_one) shape_.columns = static_cast<uint32_t>(found);
    if (found != shape_.columns)
      throw_at(name(), line_, "found {}, expected {}{}, as in the data of the model{}", columns_text(found),
               shape_.columns, shape_.may_lack_one ? ", or one less without the labels" : "",
               is_marked || found == kConlluColumns
                   ? with_options("; for CoNLL-U say `format conllu`")
                   : "; " + advice_on(line, found,
                                      "sentences as they are written are read by 'selfnorm predict'"));
    return;
  }
  if (found != shape_.columns)
    throw_at(
        name(), line_,
        "found {}, expected {}, as in line {}: every token has the same columns, and a blank line ends "
        "a sentence; {}",
        columns_text(found), shape_.columns, first_line_,
        is_marked || is_first_marked_
            ? with_options("a line that begins with # is a token, only CoNLL-U has comments: say `format "
                           "conllu` if it is that")
            : advice_on(
                  line, found,
                  found < shape_.columns
                      ? "add what is missing here, such as its label"
                      : fmt::format("remove the extra columns, or add what line {} lacks", first_line_)));
}

SequenceFormat sequence_format(std::string_view sample) {
  if (sample.size() == kFormatSample) {
    const size_t last_end = sample.rfind('\n');
    if (last_end != std::string_view::npos) sample = sample.substr(0, last_end);
  }
  if (sample.starts_with(kByteOrderMark)) sample.remove_prefix(kByteOrderMark.size());
  Lines all, tokens;  // with what would be comments of CoNLL-U, and without
  while (!sample.empty()) {
    const size_t end = std::min(sample.find('\n'), sample.size());
    const std::string_view line = sample.substr(0, end);
    sample.remove_prefix(std::min(end + 1, sample.size()));
    const std::vector<std::string_view> field = line_fields(line, Separator::tabs_or_blanks);
    if (std::all_of(field.begin(), field.end(), [](std::string_view f) { return f.empty(); })) continue;
    if (parse_mark(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line)) continue;
    const bool has_tab = line.find('\t') != std::string_view::npos;
    all.add(field, has_tab);
    if (!is_conllu_comment(line)) tokens.add(field, has_tab);
  }
  if (tokens.is_first_conllu && 2 * tokens.conllu >= tokens.lines) return SequenceFormat::conllu;
  return all.is_attributes() ? SequenceFormat::attributes : SequenceFormat::columns;
}

}  // namespace selfnorm
