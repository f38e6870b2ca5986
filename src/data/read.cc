#include "data/read.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "base/failure.h"
#include "base/option_table.h"
#include "data/array/matrix.h"
#include "data/dataset_cache.h"
#include "data/input/records.h"
#include "data/input/sniff.h"
#include "data/table/json_lines.h"
#include "data/table/table_rows.h"
#include "data/table/table_sample.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"auto", "svmlight", "csv", "tsv",        "npy",
                                                    "npz",  "text",     "idx", "safetensors"};

constexpr uint32_t kMostClasses = 1u << 31;

// An option that the format has no use for is a misunderstanding.
void check_use(const Input& input, Format format, const ReadOptions& options) {
  bool table = format == Format::csv || format == Format::tsv;
  bool array = format == Format::npy || format == Format::npz || format == Format::safetensors ||
               format == Format::idx;
  auto refuse = [&](const char* option, const char* formats) {
    throw_at(input.name(), 0, "found {} data, but {} is for {}", format_name(format), with_options(option),
             formats);
  };
  if (!options.target.empty() && !table) refuse("a target column (`target`)", "csv and tsv");
  if (!options.weight_column.empty() && !table) refuse("a weight column (`weight-column`)", "csv and tsv");
  if (options.header != Header::automatic && !table && format != Format::text)
    refuse("a header (`header`)", "csv, tsv and text");
  if (!options.text_columns.empty() && !table) refuse("a text column (`text`)", "csv, tsv and JSON lines");
  if (!options.categorical.empty() && !table) refuse("`categorical`", "csv, tsv and JSON lines");
  if (!options.dropped.empty() && !table) refuse("`drop`", "csv, tsv and JSON lines");
  if (!options.labels_path.empty() && !array)
    refuse("a file of labels (`labels`)", "npy, npz, safetensors and idx");
  if (options.schema && options.schema->table && (format == Format::svmlight || format == Format::idx))
    throw_at(input.name(), 0,
             "found {} data, but the model was trained on a table; expected one with its columns {}",
             format_name(format), shown_names(options.schema->table->frame.columns()));
  if (options.schema && options.schema->is_joint && format != Format::svmlight)
    throw DataError(input.name(), 0,
                    "the model scores groups of alternatives; expected svmlight data with qid:");
}

constexpr double kUnlimitedBytes = 1e8;  // which any machine bears
std::atomic<double> largest_ratio = kLargestExpansion;

constexpr size_t kLongestRow = 200, kRowBlock = size_t{1} << 20;

// What is passed over before row 0, and where rows end; nothing: the file has no rows of text.
struct RowLayout {
  RecordRule rule;
  uint64_t header_bytes = 0;
};

std::optional<RowLayout> row_layout(Input& input, const ReadOptions& options) {
  if (options.format == Format::automatic && is_json_lines(input)) return RowLayout{};
  const Format format = options.format == Format::automatic ? detect_format(input, options) : options.format;
  switch (format) {
    case Format::svmlight:
      return RowLayout{};
    case Format::text:
      return RowLayout{.rule = {}, .header_bytes = text_header(input, options.header)};
    case Format::csv:
    case Format::tsv: {
      const RecordRule rule{table_separator(input, format)};
      const TableSample sample = table_sample(input, rule);
      const bool has_header = TableColumns(input.name(), sample, options.header).has_header();
      return RowLayout{rule, has_header ? sample.first_bytes : 0};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

ReadResult read_input(Input& input, const ReadOptions& options) {
  options.validate();
  input.skip_byte_order_mark();
  if (options.format == Format::automatic && is_json_lines(input)) {
    ReadOptions reading = options;
    reading.format = Format::csv;
    reading.header = Header::yes;
    const std::string table = json_lines_table(input);
    return read_input(*Input::memory(input.name() + " (as a table)", table), reading);
  }
  Format format = options.format == Format::automatic ? detect_format(input, options) : options.format;
  check_use(input, format, options);
  if (!options.spool.empty() && format != Format::svmlight)
    throw_at(input.name(), 0, "found {} data, but `cache` is for svmlight; leave it out",
             format_name(format));
  ReadResult result = format == Format::csv || format == Format::tsv ? read_any_table(input, format, options)
                      : format == Format::npz || format == Format::safetensors
                          ? read_named_arrays(input, format, options)
                      : format == Format::npy  ? read_npy(input, options)
                      : format == Format::text ? read_text(input, options)
                      : format == Format::idx  ? read_idx(input, options)
                                               : read_svmlight(input, options);
  result.report.format = format;
  return result;
}

std::string_view format_name(Format format) { return kNames[static_cast<size_t>(format)]; }

Format format_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Format>(i);
  throw_error("unknown data format '{}'; expected one of {}", name, fmt::join(kNames, ", "));
}

OptionTable read_option_table(ReadOptions& o) {
  OptionTable table;
  table.add("target", &o.target, "csv, tsv: the label column, by name or number from 0");
  table.add("weight-column", &o.weight_column,
            "csv, tsv: column of example weights, by name or number from 0");
  table.add("labels", &o.labels_path, "npy, npz, safetensors, idx: file with the labels")
      .of_kind(OptionKind::file);
  table.add("skip-bad", &o.skip_bad, "Leave out up to N bad rows and report them");
  table
      .add("cache", &o.cache,
           "svmlight: keep the rows as binary files in this folder and read them there, for data beyond "
           "memory and for runs to come; results are the same")
      .of_kind(OptionKind::directory);
  return table;
}

OptionTable column_kind_option_table(ReadOptions& o) {
  OptionTable table;
  table.add("text", &o.text_columns,
            "csv, tsv, JSON lines: columns of text, by name or number from 0, separated by commas");
  table.add("categorical", &o.categorical,
            "csv, tsv, JSON lines: columns that are categories although they look like numbers");
  table.add("drop", &o.dropped, "csv, tsv, JSON lines: columns left out");
  table.add(
      "classes", &o.classes,
      "Labels are the whole numbers below N, and all of them are classes; 0: the labels that rows have");
  return table;
}

void ReadOptions::validate() const {
  text.validate();
  if (threads < 0) throw_error("{} threads: expected 0 (all) or more", threads);
  if (classes > kMostClasses) throw_error("`classes {}`: expected at most {}", classes, kMostClasses);
  if (block_bytes == 0) throw Error("blocks of 0 bytes: expected at least 1");
}

ReadResult read_dataset(const std::string& path, const ReadOptions& options) {
  if (!options.cache.empty()) return read_cached(path, options);
  auto input = open_rows(path, options);
  return read_input(*input, options);
}

ReadResult read_dataset_from_memory(const std::string& name, std::string_view bytes,
                                    const ReadOptions& options) {
  auto input = Input::memory(name, bytes);
  return read_input(*input, options);
}

void limit_expansion(double ratio) { largest_ratio = ratio; }

void check_expansion(const std::string& name, uint64_t compressed, uint64_t size) {
  const auto bytes = static_cast<double>(size), stored = static_cast<double>(compressed);
  if (bytes <= kUnlimitedBytes || bytes <= stored * largest_ratio) return;
  throw_at(name, 0,
           "{} compressed bytes expand to {} or more, over {:g} times as many, as files made to fill a "
           "memory do; if these data are meant to, give `max-expansion N`",
           compressed, size, largest_ratio.load());
}

std::string shown_row(std::string_view text) {
  std::string line = runtime::shortened(std::string(text), kLongestRow);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

std::map<uint64_t, std::string> row_texts(const std::string& path, const ReadOptions& options,
                                          std::span<const uint64_t> numbers) {
  std::map<uint64_t, std::string> out;
  const std::set<uint64_t> wanted(numbers.begin(), numbers.end());
  if (wanted.empty() || path == "-") return out;
  const std::unique_ptr<Input> input = open_rows(path, options);
  input->skip_byte_order_mark();
  const std::optional<RowLayout> layout = row_layout(*input, options);
  if (!layout) return out;
  input->skip(layout->header_bytes);
  BlockReader reader(*input, layout->rule, kRowBlock);
  uint64_t number = 0, lines = 0;
  for (Block block; number <= *wanted.rbegin() && reader.next(block);) {
    if (block.failure) return out;
    for (std::string_view rest(block.bytes.get(), block.size); !rest.empty(); ++number) {
      const std::string_view record = take_record(rest, layout->rule, lines);
      if (wanted.contains(number)) out.emplace(number, shown_row(record));
    }
  }
  return out;
}

}  // namespace selfnorm
