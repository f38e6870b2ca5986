#include "table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fields.h"
#include "number.h"
#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

constexpr size_t kRows = 100;  // sampled
constexpr size_t kLookAhead = size_t{1} << 16;
constexpr size_t kLongestLookAhead = size_t{1} << 28;

struct Sample {
  std::vector<std::string> first;
  uint64_t first_bytes = 0;  // up to and including the first record
  uint64_t first_line = 1;   // where it starts
  uint64_t next_line = 1;    // after it
  bool first_has_number = false;
  std::vector<bool> second_has_number;  // per column; empty when there is no second record
  std::vector<bool> repeats_first;      // per column: a later record has the same there
  std::vector<bool> has_number;         // per column, in the later records (of the same length)
  size_t later = 0;
};

Sample sample(Input& input, RecordRule rule) {
  size_t size = kLookAhead;
  std::string_view head = input.peek(size);
  while (head.size() == size && size < kLongestLookAhead && whole_records(head, rule) == 0)
    head = input.peek(size *= 2);
  bool whole_file = head.size() < size;
  Sample s;
  uint64_t lines = 0;
  Fields fields;
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
    } else if (message.empty() && fields.size() == s.first.size()) {
      if (++s.later == 1)
        for (size_t c = 0; c < fields.size(); ++c) s.second_has_number.push_back(is_number(fields[c]));
      for (size_t c = 0; c < fields.size(); ++c) {
        s.has_number[c] = s.has_number[c] || is_number(fields[c]);
        s.repeats_first[c] = s.repeats_first[c] || fields[c] == s.first[c];
      }
    }
  }
  return s;
}

constexpr std::string_view kTargetNames[] = {"label", "target", "class", "y"};

std::string lowercase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

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
bool is_numbered_header(const Sample& s) {
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

bool first_is_header(const Sample& s) {
  if (!s.first_has_number) return true;
  if (s.later == 0) return false;
  for (size_t c = 0; c < s.first.size(); ++c)
    if (s.second_has_number[c] && is_word(s.first[c])) return true;
  return is_numbered_header(s);
}

std::string list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i ? ", " : "") + quoted(names[i]);
  return names.size() > kShown ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

class Layout {
 public:
  Layout(const std::string& file, const Sample& s, const ReadOptions& options)
      : file_(file), sample_(s), options_(options) {
    header_ = options.header == Header::yes || (options.header == Header::automatic && first_is_header(s));
    if (header_)
      for (uint32_t c = 0; c < s.first.size(); ++c)
        if (by_name_.add(s.first[c]) != c)
          fail(fmt::format("found the column name {} twice, expected every name once", quoted(s.first[c])));
    if (options.schema && header_ && !options.schema->feature_names.empty())
      known_.emplace(options.schema->feature_names);
  }

  TableLayout build(RecordRule rule) {
    TableLayout layout;
    layout.rule = rule;
    auto weight = options_.weight_column.empty() ? std::nullopt
                                                 : std::optional(column(options_.weight_column, "weight"));
    auto target = find_target(weight);
    if (!target && options_.require_labels && is_full(weight))
      fail(fmt::format("found {} columns, as many as the model has features, and no target; {}",
                       options_.schema->feature_count, describe()));
    if (!target && options_.require_labels)
      fail(fmt::format("cannot tell which column is the target: {}; name it (--target) or call it label",
                       describe()));
    if (target && target == weight) fail("found the same column as target and as weight");
    layout.has_target = target.has_value();
    if (target) layout.target = header_ ? sample_.first[*target] : std::to_string(*target);
    layout.has_weight = weight.has_value();
    for (uint32_t c = 0; c < sample_.first.size(); ++c) {
      if (target == c) {
        layout.role.push_back(TableLayout::kTarget);
      } else if (weight == c) {
        layout.role.push_back(TableLayout::kWeight);
      } else {
        layout.role.push_back(known_ ? known_feature(c) : layout.features);
        ++layout.features;
        if (header_) layout.names.push_back(sample_.first[c]);
      }
    }
    check_features(layout);
    if (header_) layout.header_bytes = sample_.first_bytes, layout.first_line = sample_.next_line;
    return layout;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw DataError(file_, sample_.first_line, what); }

  std::string describe() const {
    return header_ ? "the columns are " + list(sample_.first)
                   : fmt::format("there are {} columns", sample_.first.size());
  }

  std::optional<uint32_t> named(std::string_view name) const { return by_name_.find(name); }

  uint32_t column(const std::string& name, const char* role) const {
    if (auto c = named(name)) return *c;
    uint64_t index = 0;
    const char* end = name.c_str() + name.size();
    if (parse_natural(name.c_str(), end, index) == end && index < sample_.first.size())
      return static_cast<uint32_t>(index);
    fail(fmt::format("found no {} column {}; {}", role, quoted(name), describe()));
  }

  std::optional<uint32_t> find_target(std::optional<uint32_t> weight) const {
    if (!options_.target.empty()) {
      bool absent = known_ && !options_.require_labels && !named(options_.target);
      return absent ? std::nullopt : std::optional(column(options_.target, "target"));
    }
    uint32_t columns = static_cast<uint32_t>(sample_.first.size());
    std::vector<uint32_t> unknown, wordy;
    for (uint32_t c = 0; c < columns; ++c) {
      if (weight == c) continue;
      if (known_ && !known_->find(sample_.first[c])) unknown.push_back(c);
      if (header_ ? sample_.later > 0 && !sample_.has_number[c]
                  : !sample_.has_number[c] && !is_number(sample_.first[c]))
        wordy.push_back(c);
    }
    if (auto trained = trained_target(weight)) return trained;
    if (known_) return unknown.empty() ? std::nullopt : std::optional(preferred(unknown));
    if (is_full(weight) && !options_.require_labels) return std::nullopt;
    for (std::string_view name : kTargetNames)
      for (uint32_t c = 0; header_ && c < columns; ++c)
        if (lowercase(sample_.first[c]) == name) return c;
    if (is_full(weight)) return std::nullopt;
    if (auto index = trained_index()) return index;
    if (wordy.size() == 1) return wordy[0];
    if (header_ || columns == 1) return std::nullopt;
    if (options_.schema)
      fail(
          fmt::format("cannot tell which of the {} columns is the target: there is no header; give its index "
                      "(--target)",
                      columns));
    return weight == 0u ? 1u : 0u;
  }

  // As many columns as the model has features: none is left for a target.
  bool is_full(std::optional<uint32_t> weight) const {
    return options_.schema && sample_.first.size() - (weight ? 1 : 0) == options_.schema->feature_count;
  }

  // The column with the name, or without a header the index, of the target in training.
  std::optional<uint32_t> trained_target(std::optional<uint32_t> weight) const {
    if (!options_.schema || options_.schema->target.empty() || is_full(weight)) return std::nullopt;
    return header_ ? named(options_.schema->target) : trained_index();
  }

  std::optional<uint32_t> trained_index() const {
    if (!options_.schema || options_.schema->target.empty()) return std::nullopt;
    const std::string& target = options_.schema->target;
    uint64_t index = 0;
    const char* end = target.c_str() + target.size();
    bool whole = parse_natural(target.c_str(), end, index) == end && index < sample_.first.size();
    return whole ? std::optional(static_cast<uint32_t>(index)) : std::nullopt;
  }

  // Of the columns that the model does not know, the one with a target's name; else the first.
  uint32_t preferred(const std::vector<uint32_t>& columns) const {
    for (std::string_view name : kTargetNames)
      for (uint32_t c : columns)
        if (lowercase(sample_.first[c]) == name) return c;
    return columns[0];
  }

  uint32_t known_feature(uint32_t c) const {
    auto feature = known_->find(sample_.first[c]);
    if (!feature)
      fail(fmt::format("found a column {}, which is no feature of the model", quoted(sample_.first[c])));
    return *feature;
  }

  void check_features(TableLayout& layout) const {
    if (layout.features == 0) fail(fmt::format("found no feature columns; {}", describe()));
    if (!options_.schema) return;
    if (known_) {
      for (const std::string& name : options_.schema->feature_names)
        if (!named(name)) fail(fmt::format("found no column {}, a feature of the model", quoted(name)));
      layout.names = options_.schema->feature_names;
    }
    if (layout.features != options_.schema->feature_count)
      fail(fmt::format("found {} feature columns, but the model has {} features", layout.features,
                       options_.schema->feature_count));
  }

  const std::string& file_;
  const Sample& sample_;
  const ReadOptions& options_;
  bool header_ = false;
  StringIndex by_name_;
  std::optional<StringIndex> known_;
};

}  // namespace

TableLayout table_layout(Input& input, char separator, const ReadOptions& options) {
  RecordRule rule{separator};
  Sample s = sample(input, rule);
  if (s.first.empty()) throw DataError(input.name(), 0, "the file is empty, expected rows of data");
  return Layout(input.name(), s, options).build(rule);
}

}  // namespace selfnorm
