// Files to datasets. Line formats are parsed in parallel blocks and assembled in file order, so neither the
// result nor the error depends on the threads. Files may be gzipped; "-" is standard input.
//
//   svmlight  `label [qid:N] index:value ... # comment`, indices from 1, strictly increasing. With `qid:` the
//             rows of one qid are alternatives and a target > 0 marks the one chosen (a joint dataset).
//   csv, tsv  RFC 4180 fields. Tables of numbers; or numbers, categories, missing values and, where they are
//             named, texts (table/table_encoder.h).
//   JSON lines, an object a line, are read as such tables.
//   npy, npz, safetensors
//             arrays: features n x d (float16, bfloat16, float32, float64, integers), labels n. Names: X, x,
//             features, data, states, hidden_states, h, H or the only array of floats in two or more
//             dimensions; y, label, labels, target, targets. npz: or a SciPy CSR matrix (indices, indptr,
//             data, shape). Dimensions after the first are flattened.
//   text      label<TAB>text
//   idx       the format of MNIST; `...images-idx3-ubyte` finds its `...labels-idx1-ubyte` by itself.
//
// Labels are strings, kept as written; "+7" and "7" are the same class, spelled as first seen. When all
// labels are integers they are sorted as numbers, otherwise bytewise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/input/source.h"
#include "data/table/table_encoder.h"
#include "data/text/text_encoder.h"

namespace selfnorm {

enum class Format { automatic, svmlight, csv, tsv, npy, npz, text, idx, safetensors };

std::string_view format_name(Format format);
Format format_from_name(std::string_view name);  // throws Error naming the formats there are

// automatic: the first row is a header when it has no number, has a word where the second row has a number,
// or has only column numbers beside the name label, target, class or y (0,1,label).
enum class Header { automatic, yes, no };

// What a trained model knows of its data. Labels become the model's indices; a label or a feature the model
// does not have is an error at its line. Named columns are matched by name.
struct Schema {
  ClassNames labels;
  uint32_t feature_count = 0;
  std::vector<std::string> feature_names;
  std::optional<TextEncoder> text;
  std::string target{};   // tables: the target column in training, by name or index; empty: not known
  bool is_joint = false;  // groups of alternatives instead of classes
  std::optional<TableEncoder> table{};  // of columns of several kinds
};

struct ReadOptions {
  Format format = Format::automatic;  // automatic: by magic bytes, then extension, then content

  // Tables: the target column, by name or zero-based index. Empty: that of the schema; else the column that
  // the schema does not name; else the one named label, target, class or y; else the only column without
  // numbers; else, without a header and a schema, the first.
  std::string target;
  Header header = Header::automatic;
  std::string weight_column;  // by name or zero-based index; values >= 0

  std::string labels_path;     // npy, npz, safetensors and idx: the file with the labels
  uint32_t classes = 0;        // without a schema: labels are the whole numbers below it, and all of them
                               // are classes; 0: the labels that rows have
  bool require_labels = true;  // false: rows without a label, or with one the schema lacks, get kNoTarget
  bool keep_unseen = false;    // rows with a label the schema lacks get kUnseenTarget and are reported
  uint64_t skip_bad = 0;       // bad rows left out and reported (a bad alternative: its whole group)
  const Schema* schema = nullptr;
  TextOptions text;  // when the schema has no encoder
  int threads = 0;   // 0: all that ThreadLimit allows
  // Tables without a schema: columns of text, columns of numbers that are categories, columns left out; by
  // name or zero-based index.
  std::vector<std::string> text_columns, categorical, dropped;

  std::string cache;  // folder that keeps the rows as mapped arrays (data/dataset_cache.h); empty: in memory
  // Not empty: rows of classes go to files without names in this folder while they are read (sparse formats).
  std::string spool;
  uint32_t block_bytes = 1u << 20;  // unit of parallel parsing; the result does not depend on it

  void validate() const;  // throws Error
};
// Of tables and arrays; format and header are words, those of text have their own table.
OptionTable read_option_table(ReadOptions& options);
OptionTable column_kind_option_table(ReadOptions& options);

struct BadRow {
  uint64_t line = 0;  // of the file, from 1; arrays: row, from 1
  std::string message;
};

// Examples whose label the model has not seen: errors of the model, which gives them probability 0.
struct UnseenLabels {
  uint64_t examples = 0;
  uint64_t first = 0;  // by its number among all of the file, from 0
  std::string label;   // of the first
};

struct ReadReport {
  Format format = Format::automatic;
  uint64_t rows = 0;
  uint64_t bytes = 0;  // after decompression
  std::vector<BadRow> bad;
  std::vector<uint64_t> left_out;  // examples not in the data, by their number among all of the file, from 0
  std::string target;              // tables: the target column, by name or (without a header) index
  UnseenLabels unseen = {};        // with keep_unseen
  std::vector<std::string> notes = {};  // what became of the columns
};

struct ReadResult {
  Dataset data;
  std::optional<TextEncoder> text;  // text format: what encoded it, fitted here or taken from the schema
  ReadReport report;
  std::optional<TableEncoder> table{};  // what encoded tables with columns of several kinds
};

// Throws DataError (file:line: what was found, what was expected) or Error.
ReadResult read_dataset(const std::string& path, const ReadOptions& options = {});

// The same from bytes; `name` stands for the path in messages and in the choice of format.
ReadResult read_dataset_from_memory(const std::string& name, std::string_view bytes,
                                    const ReadOptions& options = {});

// How far compressed data (gzip, members of zip archives) may expand: text that people have shrinks to a
// 50th at most, deflate reaches a 1032nd.
inline constexpr double kLargestExpansion = 200;

// Of the whole process, from now on: more than 100 MB from a file are at most `ratio` times its size.
void limit_expansion(double ratio);

// Throws DataError when `compressed` bytes of `name` that became `size` exceed the limit.
void check_expansion(const std::string& name, uint64_t compressed, uint64_t size);

// read_dataset from an input that is open.
ReadResult read_input(Input& input, const ReadOptions& options);

// Rows of a text file as they are written, for people to look at.

// By their numbers (RowNumbers): the line of a row, or of quotes lines, with its middle left out
// above 200 bytes, and blanks for control characters. Nothing of what has no text: standard input, arrays,
// rows that are not there.
std::map<uint64_t, std::string> row_texts(const std::string& path, const ReadOptions& options,
                                          std::span<const uint64_t> numbers);

// One line of about 200 bytes at most: control characters are blanks, "..." is what was left out.
std::string shown_row(std::string_view text);

ReadResult read_svmlight(Input& input, const ReadOptions& options);
// Fits a TextEncoder unless the schema brings one.
ReadResult read_text(Input& input, const ReadOptions& options);

}  // namespace selfnorm
