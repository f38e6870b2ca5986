#include "data/read.h"

#include <array>
#include <atomic>

#include "base/failure.h"
#include "base/option_table.h"
#include "data/array/matrix.h"
#include "data/input/sniff.h"
#include "data/table/json_lines.h"
#include "data/table/table_rows.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"auto", "svmlight", "csv", "tsv",        "npy",
                                                    "npz",  "text",     "idx", "safetensors"};

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
  if (block_bytes == 0) throw Error("blocks of 0 bytes: expected at least 1");
}

ReadResult read_dataset(const std::string& path, const ReadOptions& options) {
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

}  // namespace selfnorm
