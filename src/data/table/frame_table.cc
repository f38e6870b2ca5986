#include <cmath>
#include <optional>

#include "base/failure.h"
#include "base/option_table.h"
#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/input/sniff.h"
#include "data/read.h"
#include "data/string_index.h"
#include "data/table/frame.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

constexpr size_t kFrameBlockBytes = size_t{1} << 20;
constexpr size_t kFrameLookAhead = size_t{1} << 16;

// open: numbers as long as no text is found.
enum class ColumnKind { open, numeric, categorical, left_out };

struct Problem {
  uint64_t line = 0;  // within the block, from 0
  std::string message;
};

struct FramePart {
  struct Column {
    std::vector<double> number;
    std::vector<uint32_t> level;
    StringIndex levels;
    bool has_text = false;            // in an open column
    std::optional<Problem> infinite;  // the first; a problem unless the column has text
  };
  uint64_t lines = 0;
  std::vector<uint64_t> line;   // of every row, within the block
  std::vector<uint64_t> blank;  // rows before each blank line
  std::vector<Column> column;
  std::optional<Problem> problem;  // with the record after the last one taken
};

struct FrameLayout {
  RecordRule rule;
  std::vector<std::string> names;
  std::vector<ColumnKind> kind;
  uint64_t header_bytes = 0;
  uint64_t first_line = 1;
  bool has_missing_words = true;
};

class FrameParser {
 public:
  explicit FrameParser(const FrameLayout& layout) : layout_(layout) {}

  FramePart operator()(std::string_view text) const {
    FramePart part;
    part.column.resize(layout_.kind.size());
    Fields fields;
    while (!text.empty() && !part.problem) {
      const uint64_t line = part.lines;
      const std::string_view record = take_record(text, layout_.rule, part.lines);
      if (record.empty()) {
        part.blank.push_back(part.line.size());
        continue;
      }
      std::string message = fields.split(record, layout_.rule.separator);
      if (message.empty() && fields.size() != layout_.kind.size())
        message = fields.count_error(layout_.kind.size(), layout_.rule.separator);
      for (size_t c = 0; c < layout_.kind.size() && message.empty(); ++c)
        message = take(c, fields[c], line, part.column[c]);
      part.line.push_back(line);
      if (!message.empty()) part.problem = {line, std::move(message)};
    }
    return part;
  }

 private:
  // Returns what is wrong, or nothing.
  std::string take(size_t c, std::string_view field, uint64_t line, FramePart::Column& column) const {
    const ColumnKind kind = layout_.kind[c];
    if (kind == ColumnKind::left_out || column.has_text) return {};
    if (kind == ColumnKind::categorical) {
      const bool is_there = layout_.has_missing_words ? !is_missing_word(field) : !field.empty();
      column.level.push_back(is_there ? column.levels.add(field) : kMissingLevel);
      return {};
    }
    double value = NAN;
    if (!parse_double(field, value) && !is_missing_word(field)) {
      column.has_text = kind == ColumnKind::open;
      return column.has_text ? std::string() : expected("a number", c, field);
    }
    if (std::isinf(value)) {
      if (kind == ColumnKind::numeric) return expected("a finite number", c, field);
      if (!column.infinite) column.infinite = {line, expected("a finite number", c, field)};
    }
    column.number.push_back(value);
    return {};
  }

  std::string expected(const char* what, size_t c, std::string_view field) const {
    return fmt::format("in column {}: found {}, expected {}", quoted_text(layout_.names[c]),
                       quoted_text(field), what);
  }

  const FrameLayout& layout_;
};

// One reading of the columns that are not left out.
class Pass {
 public:
  Pass(const FrameLayout& layout, Frame& frame)
      : layout_(layout), frame_(frame), levels_(layout.kind.size()), infinite_(layout.kind.size()) {}

  // Takes the input to its end.
  void run(Input& input) {
    input.skip(layout_.header_bytes);
    line_ = layout_.first_line;
    BlockReader reader(input, layout_.rule, kFrameBlockBytes);
    try {
      parse_blocks<FramePart>(reader, 0, FrameParser(layout_), [this](FramePart&& part) { append(part); });
    } catch (const LongRecord& problem) {
      throw DataError(frame_.file, line_, problem.what());
    }
    for (size_t c = 0; c < levels_.size(); ++c) {
      if (infinite_[c] && !has_text(c))
        throw DataError(frame_.file, infinite_[c]->line, infinite_[c]->message);
      if (layout_.kind[c] == ColumnKind::categorical) frame_.columns[c].levels = levels_[c].strings();
    }
  }

  bool has_text(size_t c) const {
    return layout_.kind[c] == ColumnKind::open && !frame_.columns[c].is_numeric;
  }
  std::vector<uint64_t>& lines() { return lines_; }
  RowNumbers& numbers() { return numbers_; }

 private:
  void append(FramePart& part) {
    if (part.problem) throw DataError(frame_.file, line_ + part.problem->line, part.problem->message);
    for (const uint64_t rows : part.blank) numbers_.skip(lines_.size() + rows);
    for (const uint64_t line : part.line) lines_.push_back(line_ + line);
    for (size_t c = 0; c < part.column.size(); ++c) {
      FramePart::Column& from = part.column[c];
      FrameColumn& to = frame_.columns[c];
      if (from.infinite && !infinite_[c])
        infinite_[c] = {line_ + from.infinite->line, from.infinite->message};
      if (from.has_text) {
        to.is_numeric = false;
        to.number = {};
      }
      if (has_text(c)) continue;
      to.number.insert(to.number.end(), from.number.begin(), from.number.end());
      std::vector<uint32_t> place;
      for (uint32_t i = 0; i < from.levels.size(); ++i)
        place.push_back(levels_[c].add(utf8_repaired(from.levels[i])));
      for (const uint32_t level : from.level)
        to.level.push_back(level == kMissingLevel ? kMissingLevel : place[level]);
    }
    line_ += part.lines;
  }

  const FrameLayout& layout_;
  Frame& frame_;
  std::vector<StringIndex> levels_;
  std::vector<std::optional<Problem>> infinite_;  // at lines of the file
  std::vector<uint64_t> lines_;
  RowNumbers numbers_;
  uint64_t line_ = 1;  // of the file, at the start of the next part
};

Header header_of(const std::string& word) {
  require_one_of("header", word, {"auto", "yes", "no"});
  return word == "auto" ? Header::automatic : word == "yes" ? Header::yes : Header::no;
}

FrameLayout frame_layout(Input& input, char separator, const FrameOptions& options) {
  FrameLayout layout;
  layout.rule = {separator};
  layout.has_missing_words = options.has_missing_words;
  const TableSample sample = table_sample(input, layout.rule);
  const TableColumns columns(input.name(), sample, header_of(options.header));
  std::vector<std::string> words = options.categorical;
  words.insert(words.end(), options.ignored.begin(), options.ignored.end());
  columns.refuse_decimal_commas(words);
  StringIndex names;
  for (uint32_t c = 0; c < columns.size(); ++c) {
    layout.names.push_back(columns.has_header() ? utf8_repaired(sample.first[c]) : std::to_string(c));
    if (names.add(layout.names.back()) != c)
      columns.fail(fmt::format("found the column name {} twice, expected every name once",
                               quoted_text(layout.names.back())));
  }
  layout.kind.assign(columns.size(), ColumnKind::open);
  const auto declare = [&](const std::vector<std::string>& list, ColumnKind kind) {
    for (const std::string& name : list) {
      const auto c = columns.find(name);
      if (!c) columns.fail(fmt::format("found no column {}; {}", quoted_text(name), columns.describe(name)));
      if (layout.kind[*c] != ColumnKind::open && layout.kind[*c] != kind)
        columns.fail(
            fmt::format("the column {} is declared twice; expected it to be categorical, numeric or left out",
                        quoted_text(name)));
      layout.kind[*c] = kind;
    }
  };
  declare(options.categorical, ColumnKind::categorical);
  declare(options.numeric, ColumnKind::numeric);
  declare(options.ignored, ColumnKind::left_out);
  if (columns.has_header()) {
    layout.header_bytes = sample.first_bytes;
    layout.first_line = sample.next_line;
  }
  return layout;
}

// Columns that have a text in their first rows are not tried as numbers.
void look_ahead(Input& input, FrameLayout& layout) {
  std::string_view head = input.peek(layout.header_bytes + kFrameLookAhead);
  head.remove_prefix(std::min<size_t>(head.size(), layout.header_bytes));
  const FramePart part = FrameParser(layout)(head.substr(0, whole_records(head, layout.rule)));
  for (size_t c = 0; c < layout.kind.size(); ++c)
    if (part.column[c].has_text) layout.kind[c] = ColumnKind::categorical;
}

}  // namespace

Frame read_table_frame(const Reopen& open, char separator, const FrameOptions& options) {
  Frame frame;
  const std::unique_ptr<Input> input = open();
  frame.file = input->name();
  FrameLayout layout = frame_layout(*input, separator, options);
  look_ahead(*input, layout);
  for (size_t c = 0; c < layout.kind.size(); ++c) {
    frame.columns.push_back({.name = layout.names[c]});
    frame.columns[c].is_numeric = layout.kind[c] != ColumnKind::categorical;
  }
  Pass first(layout, frame);
  first.run(*input);
  frame.line = std::move(first.lines());
  frame.numbers = std::move(first.numbers());
  frame.rows = frame.line.size();
  if (frame.rows == 0) throw DataError(frame.file, 0, kNoRows);

  FrameLayout again = layout;
  bool has_text = false;
  for (size_t c = 0; c < layout.kind.size(); ++c) {
    again.kind[c] = first.has_text(c) ? ColumnKind::categorical : ColumnKind::left_out;
    has_text = has_text || first.has_text(c);
  }
  if (has_text) {
    Pass second(again, frame);
    second.run(*open());
    if (second.lines() != frame.line)
      throw DataError(frame.file, 0, "the file changed while it was read; expected it to stay as it is");
  }
  std::vector<FrameColumn> kept;
  for (size_t c = 0; c < layout.kind.size(); ++c)
    if (layout.kind[c] != ColumnKind::left_out) kept.push_back(std::move(frame.columns[c]));
  if (kept.empty()) throw DataError(frame.file, 0, "found no column that is not left out");
  frame.columns = std::move(kept);
  return frame;
}

void fail_text(const Frame& frame, const FrameColumn& column, const char* role) {
  for (uint64_t row = 0; row < frame.rows; ++row) {
    if (column.level[row] == kMissingLevel || is_number(column.levels[column.level[row]])) continue;
    const std::string& text = column.levels[column.level[row]];
    const bool has_comma =
        text.find(',') != std::string::npos && text.find_first_not_of("+-0123456789,eE") == std::string::npos;
    throw_at(frame.file, frame.line[row], "in {} {}: found {}, expected a number{}", role,
             quoted_text(column.name), quoted_text(text),
             has_comma ? "; with a comma for the point: " + option_name("decimal-comma")
             : std::string_view(role).starts_with("the target")
                 ? "; words are labels, which a classifier predicts"
                 : "");
  }
  throw_at(frame.file, 0,
           "{} {} was read as categorical, expected numbers; leave it out of the categorical columns", role,
           quoted_text(column.name));
}

}  // namespace selfnorm
