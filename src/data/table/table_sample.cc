#include "data/table/table_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/failure.h"
#include "base/near_name.h"
#include "base/option_table.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kRows = 100;  // sampled
constexpr size_t kLookAhead = size_t{1} << 16;
constexpr size_t kLongestLookAhead = size_t{1} << 28;

constexpr std::string_view kTargetNames[] = {"label", "target", "class", "y"};

bool is_target_name(std::string_view name) {
  return std::find(std::begin(kTargetNames), std::end(kTargetNames), lowercase(name)) !=
         std::end(kTargetNames);
}

// Could name a column: starts like an identifier and is no way of writing a missing value.
bool is_word(std::string_view cell) {
  if (cell.empty()) return false;
  unsigned char c = static_cast<unsigned char>(cell[0]);
  std::string lower = lowercase(cell);
  for (std::string_view missing : {"na", "n/a", "nan", "null", "none", "inf", "infinity"})
    if (lower == missing) return false;
  return c == '_' || c >= 0x80 || (lower[0] >= 'a' && lower[0] <= 'z');
}

// Column numbers around a target's name: 0,1,label. A label may be "y" too, but then it comes again.
bool is_numbered_header(const TableSample& s) {
  StringIndex seen;
  bool named = false;
  for (uint32_t c = 0; c < s.first.size(); ++c) {
    bool natural = s.first[c].find_first_not_of("0123456789") == std::string::npos;
    bool target = is_target_name(s.first[c]) && !s.repeats_first[c];
    if ((is_number(s.first[c]) && !natural) || seen.add(s.first[c]) != c) return false;
    named = named || target;
  }
  return named;
}

bool first_is_header(const TableSample& s) {
  if (!s.first_has_number) return true;
  if (s.later == 0) return false;
  for (size_t c = 0; c < s.first.size(); ++c)
    if (s.second_has_number[c] && is_word(s.first[c])) return true;
  return is_numbered_header(s);
}

std::atomic<bool> has_decimal_commas_everywhere = false;

// What may separate the fields of a record, outside quotes.
struct Separators {
  explicit Separators(std::string_view record) {
    const auto is_digit = [&](size_t i) { return i < record.size() && record[i] >= '0' && record[i] <= '9'; };
    bool is_quoted = false;
    for (size_t i = 0; i < record.size(); ++i) {
      if (record[i] == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      semicolons += record[i] == ';' ? 1 : 0;
      commas += record[i] == ',' ? 1 : 0;
      decimal_commas += record[i] == ',' && i > 0 && is_digit(i - 1) && is_digit(i + 1) ? 1 : 0;
    }
  }
  size_t semicolons = 0, commas = 0, decimal_commas = 0;
};

std::string_view trim(std::string_view field) {
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (field.ends_with(' ')) field.remove_suffix(1);
  return field;
}

}  // namespace

void read_decimal_commas(bool asked) { has_decimal_commas_everywhere = asked; }

std::span<const std::string_view> target_names() { return kTargetNames; }

char table_separator(Input& input, Format format) {
  if (format != Format::csv) return '\t';
  std::string_view rest = input.peek(kLookAhead);
  const bool is_whole = rest.size() < kLookAhead;
  std::optional<Separators> first;
  bool has_same_commas = true, has_decimal_commas = true;
  uint64_t lines = 0;
  for (size_t records = 0; !rest.empty() && records < kRows; ++records) {
    if (!is_whole && record_end(rest, {';'}) == std::string_view::npos) break;
    const std::string_view record = take_record(rest, {';'}, lines);
    if (record.empty()) continue;
    const Separators found(record);
    if (!first) first = found;
    if (found.semicolons == 0 || found.semicolons != first->semicolons) return ',';
    has_same_commas = has_same_commas && found.commas > 0 && found.commas == first->commas;
    has_decimal_commas = has_decimal_commas && found.commas == found.decimal_commas;
  }
  return first && (!has_same_commas || has_decimal_commas) ? ';' : ',';
}

TableSample table_sample(Input& input, RecordRule rule) {
  size_t size = kLookAhead;
  std::string_view head = input.peek(size);
  while (head.size() == size && size < kLongestLookAhead && whole_records(head, rule) == 0)
    head = input.peek(size *= 2);
  bool whole_file = head.size() < size;
  TableSample s;
  uint64_t lines = 0;
  Fields fields;
  std::vector<bool> has_words;  // per column, in the later records
  std::string_view rest = head;
  while (!rest.empty() && s.later < kRows) {
    if (!whole_file && record_end(rest, rule) == std::string_view::npos) break;
    uint64_t start = lines + 1;
    std::string_view record = take_record(rest, rule, lines);
    if (record.empty()) continue;
    std::string message = fields.split(record, rule.separator);
    if (s.first.empty()) {
      if (!message.empty()) throw DataError(input.name(), start, message);
      s.first = fields.strings();
      s.first_bytes = head.size() - rest.size();
      s.first_line = start;
      s.next_line = lines + 1;
      s.first_has_number = std::any_of(s.first.begin(), s.first.end(), is_number);
      s.has_number.assign(s.first.size(), false);
      s.repeats_first.assign(s.first.size(), false);
      s.decimal_comma.resize(s.first.size());
      has_words.assign(s.first.size(), false);
    } else if (message.empty() && fields.size() == s.first.size()) {
      if (++s.later == 1)
        for (size_t c = 0; c < fields.size(); ++c) s.second_has_number.push_back(is_number(fields[c]));
      for (size_t c = 0; c < fields.size(); ++c) {
        s.has_number[c] = s.has_number[c] || is_number(fields[c]);
        s.repeats_first[c] = s.repeats_first[c] || fields[c] == s.first[c];
        const bool has_comma = has_decimal_comma(fields[c]);
        if (has_comma && s.decimal_comma[c].empty()) s.decimal_comma[c] = fields[c];
        has_words[c] = has_words[c] || !(has_comma || is_number(fields[c]) || is_missing_word(fields[c]));
      }
    }
  }
  for (size_t c = 0; c < s.first.size(); ++c)
    if (has_words[c]) s.decimal_comma[c].clear();
  if (s.first.empty()) throw DataError(input.name(), 0, kEmptyFile);
  return s;
}

TableColumns::TableColumns(std::string file, const TableSample& sample, Header header)
    : file_(std::move(file)), sample_(sample), is_guessed_(header == Header::automatic) {
  has_header_ = header == Header::yes || (header == Header::automatic && first_is_header(sample));
  for (uint32_t c = 0; has_header_ && c < sample.first.size(); ++c)
    if (by_name_.add(sample.first[c]) != c)
      fail(fmt::format("found the column name {} twice, expected every name once",
                       quoted_text(sample.first[c])));
}

void TableColumns::fail(const std::string& what) const { throw DataError(file_, sample_.first_line, what); }

std::string shown_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i ? ", " : "") + quoted_text(names[i]);
  return names.size() > kShown ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

std::string TableColumns::describe(const std::string& wanted) const {
  if (!has_header_) return fmt::format("there are {} columns, counted from 0", sample_.first.size());
  const std::string near = wanted.empty() ? "" : nearest(wanted, sample_.first);
  return (near.empty() ? "" : fmt::format("did you mean {}? ", quoted_text(near))) + "the columns are " +
         shown_names(sample_.first);
}

std::optional<uint32_t> TableColumns::indexed(const std::string& number) const {
  uint64_t index = 0;
  const char* end = number.c_str() + number.size();
  bool whole = parse_natural(number.c_str(), end, index) == end && index < sample_.first.size();
  return whole ? std::optional(static_cast<uint32_t>(index)) : std::nullopt;
}

std::optional<uint32_t> TableColumns::find(const std::string& name) const {
  auto c = named(name);
  return c ? c : indexed(name);
}

uint32_t TableColumns::column(const std::string& name, const char* role) const {
  if (auto c = find(name)) return *c;
  fail(fmt::format("found no {} column {}; {}", role, quoted_text(name), describe(name)));
}

void TableColumns::require(const std::vector<std::string>& names, const std::string& target) const {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!find(name)) missing.push_back(name);
  const bool lacks_target = !target.empty() && !find(target);
  if (missing.empty() && !lacks_target) return;
  const std::string hint = !has_header_ ? "; give the table a first line that names its columns"
                           : missing.empty()
                               ? with_options("; if the label has another name, say so by `target`")
                               : "";
  if (lacks_target) missing.push_back(target);
  fail(fmt::format(
      "found no column {}; the model needs {}{}, and {}{}", shown_names(missing), shown_names(names),
      target.empty() ? "" : fmt::format(" and the label {}", quoted_text(target)), describe(), hint));
}

void TableColumns::fail_without_label() const {
  const auto has_blank = [&](uint32_t c) { return sample_.first[c].find(' ') != std::string::npos; };
  std::string hint;
  if (is_guessed_ && has_header_ && size() == 2 && !sample_.has_number[0] && !sample_.has_number[1]) {
    const int label = has_blank(0) && !has_blank(1) ? 1 : 0;
    hint = worded("; where the first line is no header, say `header no` `target {}` `text {}`", label,
                  1 - label);
  }
  fail(worded("cannot tell which column is the label: {}; name it (`target`) or call it label{}", describe(),
              hint));
}

void TableColumns::refuse_decimal_commas(const std::vector<std::string>& words, bool is_known) const {
  for (uint32_t c = 0; c < size(); ++c) {
    const std::string& number = sample_.decimal_comma[c];
    const bool is_said = std::ranges::any_of(words, [&](const std::string& w) { return find(w) == c; });
    if (number.empty() || is_said) continue;
    const std::string name = has_header_ ? sample_.first[c] : std::to_string(c);
    const std::string as_words =
        is_known ? "" : fmt::format(", or taken as words by {}", option_text("categorical", name));
    fail(fmt::format("column {} has numbers with decimal commas, such as {}: they are read by {}{}",
                     quoted_text(name), quoted_text(number), option_name("decimal-comma"), as_words));
  }
}

std::string Fields::split(std::string_view record, char separator) {
  views_.clear();
  is_open_ = false;
  unquoted_.clear();
  unquoted_.reserve(2 * record.size() + 1);  // never moves while views point into it
  for (;;) {
    size_t end;
    if (record.starts_with('"')) {
      size_t close = record.find('"', 1);
      while (close != std::string_view::npos && close + 1 < record.size() && record[close + 1] == '"')
        close = record.find('"', close + 2);
      is_open_ = close == std::string_view::npos;
      if (is_open_) return fmt::format("found {}, a quoted field that is never closed", quoted_text(record));
      end = close + 1 == record.size() ? std::string_view::npos : close + 1;
      if (end != std::string_view::npos && record[end] != separator)
        return fmt::format("found {} after a closing quote, expected {}", quoted_text(record.substr(end, 1)),
                           quoted_text({&separator, 1}));
      views_.push_back(trim(unquote(record.substr(1, close - 1))));
    } else {
      end = record.find(separator);
      views_.push_back(trim(record.substr(0, end)));
    }
    if (separator == ';' || has_decimal_commas_everywhere) views_.back() = with_point(views_.back());
    if (end == std::string_view::npos) return {};
    record.remove_prefix(end + 1);
  }
}

std::string Fields::count_error(size_t expected, char separator) const {
  const std::string between = quoted_text({&separator, 1});
  return fmt::format("found {} fields, expected {} as in the first row; {}", size(), expected,
                     size() > expected
                         ? fmt::format("a field with {} in it stands in quotes", between)
                         : fmt::format("leave a missing field empty, but keep its {}", between));
}

std::string_view Fields::unquote(std::string_view field) {
  if (field.find('"') == std::string_view::npos) return field;
  size_t begin = unquoted_.size();
  for (size_t i = 0; i < field.size(); ++i) {
    unquoted_ += field[i];
    if (field[i] == '"') ++i;
  }
  size_t size = unquoted_.size() - begin;
  unquoted_ += '\0';
  return std::string_view(unquoted_).substr(begin, size);
}

std::string_view Fields::with_point(std::string_view field) {
  if (!has_decimal_comma(field)) return field;
  const size_t comma = field.find(',');
  const size_t begin = unquoted_.size();
  unquoted_.append(field.substr(0, comma)).append(".").append(field.substr(comma + 1)).append(1, '\0');
  return std::string_view(unquoted_).substr(begin, field.size());
}

}  // namespace selfnorm
