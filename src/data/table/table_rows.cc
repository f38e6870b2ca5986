#include "data/table/table_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/part.h"
#include "data/input/source.h"
#include "data/table/frame.h"
#include "data/table/table.h"
#include "data/table/table_encoder.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

// Whether a table of numbers was refused for a field that is none, not for its form.
bool is_of_number(std::string_view message) {
  return message.find("expected a finite number") != std::string_view::npos ||
         message.find("expected a number") != std::string_view::npos;
}

// Which column is what, by name.
struct Roles {
  std::string target, weight;  // empty: none
  std::vector<std::string> text;
};

bool holds(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

class RoleFinder {
 public:
  RoleFinder(Input& input, char separator, const ReadOptions& options)
      : options_(options),
        sample_(table_sample(input, {separator})),
        columns_(input.name(), sample_, options.header) {}

  Roles find() const {
    Roles out{.target = {}, .weight = {}, .text = {}};
    const Schema* schema = options_.schema;
    const std::vector<std::string>& texts = schema ? schema->table->text_columns : options_.text_columns;
    if (schema) {
      std::vector<std::string> needed = schema->table->frame.columns();
      needed.insert(needed.end(), texts.begin(), texts.end());
      columns_.require(needed, options_.require_labels && options_.target.empty() ? schema->target : "");
    }
    for (const std::string& name : texts) out.text.push_back(resolved(name, "text"));
    if (!options_.weight_column.empty()) out.weight = resolved(options_.weight_column, "weight");
    out.target = target(out);
    if (out.target.empty() && options_.require_labels) columns_.fail_without_label();
    if (holds(out.text, out.target)) columns_.fail("found the same column as target and as text");
    return out;
  }
  bool has(const std::string& name) const { return columns_.find(name).has_value(); }

 private:
  std::string name_of(uint32_t c) const {
    return columns_.has_header() ? utf8_repaired(sample_.first[c]) : std::to_string(c);
  }
  std::string resolved(const std::string& name, const char* role) const {
    return name_of(columns_.column(name, role));
  }
  std::string target(const Roles& roles) const {
    if (!options_.target.empty()) {
      if (options_.schema && !options_.require_labels && !has(options_.target)) return "";
      return resolved(options_.target, "target");
    }
    if (options_.schema) {
      const std::string& trained = options_.schema->target;
      return !trained.empty() && has(trained) ? resolved(trained, "target") : "";
    }
    const auto is_free = [&](const std::string& name) {
      return !holds(roles.text, name) && name != roles.weight && !holds(options_.dropped, name) &&
             !holds(options_.categorical, name);
    };
    for (const std::string_view wanted : target_names())
      for (uint32_t c = 0; columns_.has_header() && c < columns_.size(); ++c)
        if (lowercase(sample_.first[c]) == wanted && is_free(name_of(c))) return name_of(c);
    std::vector<std::string> wordy, others;
    for (uint32_t c = 0; c < columns_.size(); ++c) {
      if (!is_free(name_of(c))) continue;
      (sample_.later > 0 && !sample_.has_number[c] ? wordy : others).push_back(name_of(c));
    }
    if (wordy.size() == 1) return wordy[0];
    if (wordy.empty() && others.size() == 1) return others[0];
    return "";
  }

  const ReadOptions& options_;
  TableSample sample_;
  TableColumns columns_;
};

std::string text_at(const FrameColumn& column, uint64_t row) {
  if (!column.is_numeric) return column.level[row] == kMissingLevel ? "" : column.levels[column.level[row]];
  return std::isnan(column.number[row]) ? "" : fmt::format("{}", column.number[row]);
}

// The texts of a row together, on one line.
std::string joined_text(const Frame& frame, const std::vector<std::string>& columns, uint64_t row) {
  std::string out;
  for (const std::string& name : columns) out += (out.empty() ? "" : " ") + text_at(*frame.find(name), row);
  for (char& c : out)
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  return out;
}

// By the reader of texts, which learns its vocabulary.
ReadResult learned_texts(const Frame& frame, const std::vector<std::string>& columns,
                         const ReadOptions& options) {
  std::string lines;
  for (uint64_t row = 0; row < frame.rows; ++row) lines += "\t" + joined_text(frame, columns, row) + "\n";
  ReadOptions reading;
  reading.format = Format::text;
  reading.header = Header::no;
  reading.require_labels = false;
  reading.text = options.text;
  reading.threads = options.threads;
  const auto input = Input::memory(frame.file, lines);
  return read_text(*input, reading);
}

void append_frame(const EncodedFrame& encoded, const std::vector<uint32_t>& levels, uint64_t row,
                  SparseMatrix& to) {
  for (uint32_t j = 0; j < encoded.numeric; ++j)
    if (const float x = encoded.number[row * encoded.numeric + j]; x != 0) {
      to.column.push_back(j);
      to.value.push_back(x);
    }
  uint32_t first = encoded.numeric;
  for (uint32_t c = 0; c < encoded.categorical; ++c) {
    if (const uint32_t level = encoded.level[row * encoded.categorical + c]; level > 0) {
      to.column.push_back(first + level - 1);
      to.value.push_back(1);
    }
    first += levels[c] - 1;
  }
}

uint32_t frame_features(const FrameEncoder& encoder) {
  uint32_t features = encoder.numeric_inputs();
  for (const uint32_t levels : encoder.levels()) features += levels - 1;
  return features;
}

void set_targets(const Frame& frame, const Roles& roles, const ReadOptions& options, ReadResult& out) {
  const LabelRule rule(options);
  LabelTable table;
  const FrameColumn* column = roles.target.empty() ? nullptr : frame.find(roles.target);
  for (uint64_t row = 0; row < frame.rows; ++row) {
    uint32_t target = Dataset::kNoTarget;
    const std::string problem = rule.number(column ? text_at(*column, row) : "", table, target);
    if (!problem.empty())
      throw_at(frame.file, frame.line[row], "in column {}: {}", quoted_text(roles.target), problem);
    out.data.target.push_back(target);
  }
  set_labels(table, options, out.data);
  if (options.schema && options.keep_unseen) out.report.unseen = unseen_labels(out.data, table);
}

// Numbers with a few words among them: most likely a mistake in the file.
void refuse_mixed(const Frame& frame, const Roles& roles, const std::vector<std::string>& declared) {
  for (const FrameColumn& column : frame.columns) {
    if (column.is_numeric || column.name == roles.target || holds(roles.text, column.name) ||
        holds(declared, column.name))
      continue;
    std::vector<bool> is_word;
    for (const std::string& level : column.levels) is_word.push_back(!is_number(level));
    uint64_t words = 0, first = 0;
    for (uint64_t row = frame.rows; row-- > 0;)
      if (column.level[row] != kMissingLevel && is_word[column.level[row]]) {
        ++words;
        first = row;
      }
    const bool is_text = 2 * column.levels.size() > frame.rows &&
                         std::ranges::any_of(column.levels, [](const std::string& level) {
                           return std::ranges::count(level, ' ') > 0;
                         });
    if (words == frame.rows && is_text)
      throw_at(
          frame.file, 0,
          "column {} holds texts, nearly all different: read them by `text {}`, or leave the column out by "
          "`drop {}`",
          quoted_text(column.name), column.name, column.name);
    if (2 * words > frame.rows) continue;
    throw_at(frame.file, frame.line[first],
             "in column {}: found {}, expected a finite number as in most other rows; correct it, or take "
             "the column as "
             "words (`categorical {}`) or leave it out (`drop {}`)",
             quoted_text(column.name), quoted_text(text_at(column, first)), column.name, column.name);
  }
}

std::string columns_note(const TableEncoder& encoder) {
  std::vector<std::string> parts;
  const size_t words = encoder.frame.levels().size(), all = encoder.frame.columns().size();
  if (all > words) parts.push_back(fmt::format("{} of numbers", all - words));
  if (words > 0) parts.push_back(fmt::format("{} of categories", words));
  if (!encoder.text_columns.empty())
    parts.push_back(fmt::format("text in {}", fmt::join(encoder.text_columns, ", ")));
  return fmt::format("columns: {}", fmt::join(parts, "; "));
}

ReadResult rows_of(const HeldTable& file, char separator, const ReadOptions& options) {
  const auto input = file.open();
  const RoleFinder finder(*input, separator, options);
  const Roles roles = finder.find();
  FrameOptions reading;
  if (options.schema) reading = options.schema->table->frame.reading();
  std::erase_if(reading.categorical, [&](const std::string& name) { return !finder.has(name); });
  std::erase_if(reading.numeric, [&](const std::string& name) { return !finder.has(name); });
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    if (!name.empty() && !holds(list, name)) list.push_back(name);
  };
  if (!options.schema) {
    reading.categorical = options.categorical;
    reading.ignored = options.dropped;
  }
  for (const std::string& name : roles.text) add(reading.categorical, name);
  add(reading.categorical, roles.target);
  add(reading.numeric, roles.weight);
  reading.header = options.header == Header::automatic ? "auto"
                   : options.header == Header::yes     ? "yes"
                                                       : "no";
  Frame frame = read_table_frame([&file] { return file.open(); }, separator, reading);

  ReadResult out;
  out.report.format = separator == '\t' ? Format::tsv : Format::csv;
  out.report.rows = frame.rows;
  out.report.target = roles.target;
  TableEncoder encoder;
  std::optional<ReadResult> texts;
  if (options.schema) {
    encoder = *options.schema->table;
  } else {
    refuse_mixed(frame, roles, options.categorical);
    std::vector<std::string> others = roles.text;
    add(others, roles.target);
    add(others, roles.weight);
    std::vector<uint64_t> all(frame.rows);
    for (uint64_t row = 0; row < frame.rows; ++row) all[row] = row;
    encoder.text_columns = roles.text;
    encoder.frame = FrameEncoder(frame, all, others, true, out.report.notes);
    if (!roles.text.empty()) {
      if (options.text.hash_buckets > 0 && !encoder.is_text_alone())
        throw_error(
            "`hash-buckets` is for texts alone; leave the other columns out (`drop`) or give "
            "`max-vocabulary`");
      texts = learned_texts(frame, roles.text, options);
      if (!encoder.is_text_alone()) encoder.text = texts->text;
    }
    if (roles.text.empty() && encoder.is_text_alone())
      throw_at(frame.file, 0,
               "found no column that tells anything about the label; a column of texts is read by "
               "`text COLUMN`");
    out.report.notes.insert(out.report.notes.begin(), columns_note(encoder));
  }
  set_targets(frame, roles, options, out);
  if (!roles.weight.empty())
    for (uint64_t row = 0; row < frame.rows; ++row) {
      const double weight = frame.find(roles.weight)->number[row];
      if (!(weight >= 0))
        throw_at(frame.file, frame.line[row], "in column {}: expected a weight of at least 0",
                 quoted_text(roles.weight));
      out.data.weight.push_back(static_cast<float>(weight));
    }
  EncodingReport report;
  const EncodedFrame encoded = encoder.frame.encode(frame, report);
  const std::vector<uint32_t> levels = encoder.frame.levels();
  const uint32_t first_word = frame_features(encoder.frame);
  const TextEncoder* words = encoder.text                             ? &*encoder.text
                             : options.schema && options.schema->text ? &*options.schema->text
                                                                      : nullptr;
  SparseMatrix& x = out.data.features.sparse;
  for (uint64_t row = 0; row < frame.rows; ++row) {
    append_frame(encoded, levels, row, x);
    if (texts) {
      const SparseMatrix& from = texts->data.features.sparse;
      for (uint64_t k = from.begin[row]; k < from.begin[row + 1]; ++k) {
        x.column.push_back(first_word + from.column[k]);
        x.value.push_back(from.value[k]);
      }
    } else if (words != nullptr && !roles.text.empty()) {
      const SparseRow text = words->encode(joined_text(frame, roles.text, row));
      for (size_t k = 0; k < text.column.size(); ++k) x.column.push_back(first_word + text.column[k]);
      x.value.append(text.value);
    }
    x.begin.push_back(x.column.size());
  }
  x.columns = first_word + (texts ? texts->data.features.sparse.columns : words ? words->features() : 0);
  if (encoder.is_text_alone())
    out.text = texts ? texts->text : options.schema->text;
  else
    out.data.feature_names = encoder.feature_names();
  out.data.numbers = std::move(frame.numbers);
  out.table = std::move(encoder);
  return out;
}

}  // namespace

ReadResult read_table_rows(Input& input, char separator, const ReadOptions& options) {
  if (options.skip_bad > 0)
    throw_at(input.name(), 0,
             "`skip-bad` is for tables of numbers; this one has columns of words, texts or missing "
             "values");
  return rows_of(HeldTable(input), separator, options);
}

ReadResult read_any_table(Input& input, Format format, const ReadOptions& options) {
  const bool is_learned = options.schema == nullptr;
  if (!is_learned && !options.schema->table) return read_table(input, format, options);
  const char separator = table_separator(input, format);
  if (!is_learned || !options.text_columns.empty() || !options.categorical.empty() ||
      !options.dropped.empty())
    return read_table_rows(input, separator, options);
  const HeldTable held(input);
  try {
    return read_table(*held.open(), format, options);
  } catch (const DataError& error) {
    if (options.skip_bad > 0 || !is_of_number(error.what())) throw;
    return rows_of(held, separator, options);
  }
}

bool names_columns(Input& input, const std::vector<std::string>& names) {
  const std::string_view head = input.peek(size_t{1} << 16);
  const std::string_view line = head.substr(0, head.find('\n'));
  for (const char separator : {',', ';', '\t'}) {
    Fields fields;
    if (!fields.split(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line, separator).empty())
      continue;
    const std::vector<std::string> there = fields.strings();
    if (std::ranges::all_of(names, [&](const std::string& name) { return holds(there, name); })) return true;
  }
  return false;
}

}  // namespace selfnorm
