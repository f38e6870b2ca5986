// What one block of a line format becomes, and how parts become a dataset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/dataset.h"
#include "data/input/records.h"
#include "data/input/source.h"
#include "data/read.h"
#include "data/string_index.h"
#include "selfnorm/error.h"

namespace selfnorm {

// Rows that could not be read: tolerated up to a number, then an error.
enum class Place { line, row };  // what the numbers count; a message says so when it is rows

class BadRows {
 public:
  BadRows(std::string file, uint64_t tolerance, Place place)
      : file_(std::move(file)), tolerance_(tolerance), place_(place) {}

  void add(uint64_t number, const std::string& message);  // throws DataError beyond the tolerance
  bool empty() const { return rows_.empty(); }
  std::vector<BadRow> take();  // in file order

 private:
  std::string file_;
  uint64_t tolerance_;
  Place place_;
  std::vector<BadRow> rows_;
};

// Of examples of which these, by number, were left out.
RowNumbers numbers_without(const std::vector<uint64_t>& left_out);

// Groups of alternatives (`qid:`) from rows in file order. A group with a bad row, without exactly one choice
// or with the qid of an earlier group is left out whole.
class Groups {
 public:
  Groups(BadRows& bad, bool require_choice) : bad_(bad), require_choice_(require_choice) {}

  void row(uint64_t qid, uint64_t line, bool chosen);  // after the row was appended to the features
  void bad_row(std::optional<uint64_t> qid);
  // Sets targets and groups, and drops the rows of bad groups; returns their numbers.
  std::vector<uint64_t> finish(Dataset& data);

 private:
  void close();

  BadRows& bad_;
  bool require_choice_;
  std::unordered_set<uint64_t> seen_;
  std::vector<uint64_t> begin_{0};
  std::vector<uint32_t> target_;
  std::vector<uint64_t> dropped_;  // numbers of bad groups
  uint64_t rows_ = 0;
  uint64_t qid_ = 0, line_ = 0, chosen_ = 0;
  uint32_t choice_ = Dataset::kNoTarget;
  bool spoilt_ = false;  // the open group has a bad row
  bool open_ = false;
  bool spoil_next_ = false;
  std::optional<uint64_t> spoilt_qid_;
};

// Labels as first spelled, numbered by first appearance.
class LabelTable {
 public:
  uint32_t add(std::string_view label);
  const std::vector<std::string>& spellings() const { return spellings_; }

 private:
  StringIndex keys_;
  std::vector<std::string> spellings_;
};

// The class number of a label while reading: of the schema, else the number it is where `classes` says so,
// else of the table. A label that the schema lacks
// and that is kept is put into the table.
class LabelRule {
 public:
  explicit LabelRule(const ReadOptions& options);
  // Returns what is wrong, or nothing.
  std::string number(std::string_view label, LabelTable& table, uint32_t& target) const;

 private:
  bool require_, keep_unseen_;
  uint32_t classes_;
  std::optional<KnownLabels> known_;
};

// Of data read by a schema; `table` has the labels it lacks.
UnseenLabels unseen_labels(const Dataset& data, const LabelTable& table);

// The labels of the schema, or the numbers of the classes; without either those of the table, sorted
// (numerically when all are integers, otherwise bytewise), and the targets renumbered.
void set_labels(const LabelTable& table, const ReadOptions& options, Dataset& data);

struct Part {
  struct Bad {
    uint64_t line;  // within the block, from 0
    uint64_t row;   // good rows of the part before it
    std::string message;
    std::optional<uint64_t> group;  // its qid, when that could be read
    bool is_fatal = false;          // not to be skipped: no telling where the next row starts
  };

  uint64_t lines = 0;
  uint64_t bytes = 0;
  std::vector<Bad> bad;
  std::vector<uint64_t> not_rows;  // bad, blank or a comment: good rows of the part before it
  std::vector<uint64_t> row_end;   // sparse: ends into column and value
  std::vector<uint32_t> column;
  std::vector<float> value;
  uint32_t columns = 0;          // 1 + the largest column
  std::vector<uint32_t> target;  // number in `labels` or of the schema; joint: 1 chosen, 0 not
  LabelTable labels;
  std::vector<float> weight;
  std::vector<uint64_t> line;   // of each row within the block; joint data only
  std::vector<uint64_t> group;  // qid of each row; joint data only

  uint64_t rows() const { return target.size(); }
};

// parse(record, bad, part) for every record of a block that is not empty: it appends a row, or none, or
// returns what is wrong; then the features it appended go, and `bad` stays with what else it says.
template <class SomePart, class Parse>
SomePart parse_records(std::string_view text, RecordRule rule, SomePart part, const Parse& parse) {
  part.bytes = text.size();
  while (!text.empty()) {
    Part::Bad bad{part.lines, part.rows(), {}, {}};
    const size_t columns = part.column.size(), values = part.value.size();
    const std::string_view record = take_record(text, rule, part.lines);
    if (!record.empty()) bad.message = parse(record, bad, part);
    if (part.rows() == bad.row) part.not_rows.push_back(bad.row);
    if (bad.message.empty()) continue;
    part.column.resize(columns);
    part.value.resize(values);
    part.bad.push_back(std::move(bad));
  }
  return part;
}

class Assembly {
 public:
  Assembly(Input& input, const ReadOptions& options, uint64_t first_line);

  // append(parse(block)) for all blocks of the rest of the input, in file order.
  template <class SomePart, class Parse, class Append>
  void take(RecordRule rule, Parse parse, Append append) {
    BlockReader reader(input_, rule, options_.block_bytes);
    try {
      parse_blocks<SomePart>(reader, options_.threads, parse, append);
    } catch (const LongRecord& problem) {
      throw DataError(input_.name(), line_, problem.what());
    }
  }
  template <class Parse>
  void take(RecordRule rule, Parse parse) {
    take<Part>(rule, parse, [this](Part&& part) { append(std::move(part)); });
  }
  void append(Part&& part);
  ReadResult finish(Format format);  // throws DataError when there are no rows

  // Before the first part: dense rows of that many columns; groups instead of classes.
  void expect_dense(uint32_t columns, std::vector<std::string> names);
  void expect_groups() { groups_.emplace(bad_, options_.require_labels); }

 private:
  void append_features(Part& part);
  void append_targets(Part& part);
  void append_groups(Part& part);

  Input& input_;
  const ReadOptions& options_;
  BadRows bad_;
  std::optional<Groups> groups_;
  uint64_t line_;  // of the file, at the start of the next part
  Features features_;
  LabelTable labels_;
  StoredArray<uint32_t> target_;
  std::vector<float> weight_;
  std::vector<uint64_t> left_out_;
  RowNumbers numbers_;
  std::vector<std::string> names_;
  std::optional<uint64_t> bytes_;  // of the whole file, when known
};

}  // namespace selfnorm
