// What one block of a line format becomes, and how parts become a dataset.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bad_rows.h"
#include "block.h"
#include "groups.h"
#include "labels.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/dataset.h"
#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

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
  std::vector<uint64_t> not_rows;  // bad, blank or a comment: good rows of the part before it; not joint data
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
  // After a record, with the number of rows before it.
  void count(uint64_t rows_before) {
    if (rows() == rows_before) not_rows.push_back(rows_before);
  }
};

class Assembly {
 public:
  Assembly(const Input& input, const ReadOptions& options, uint64_t first_line);

  // append(parse(block)) for all blocks, in file order.
  template <class SomePart, class Parse, class Append>
  void take(BlockReader& reader, Parse parse, Append append) {
    try {
      parse_blocks<SomePart>(reader, options_.threads, parse, append);
    } catch (const LongRecord& problem) {
      throw DataError(input_.name(), line_, problem.what());
    }
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

  const Input& input_;
  const ReadOptions& options_;
  BadRows bad_;
  std::optional<Groups> groups_;
  uint64_t line_;  // of the file, at the start of the next part
  Features features_;
  LabelTable labels_;
  std::vector<uint32_t> target_;
  std::vector<float> weight_;
  std::vector<uint64_t> left_out_;
  RowNumbers numbers_;
  std::vector<std::string> names_;
  std::optional<uint64_t> bytes_;  // of the whole file, when known
};

}  // namespace selfnorm
