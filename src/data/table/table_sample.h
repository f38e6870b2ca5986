// The first rows of a table: what a layout is told by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/input/records.h"
#include "data/input/source.h"
#include "data/read.h"
#include "data/string_index.h"

namespace selfnorm {

struct TableSample {
  std::vector<std::string> first;
  uint64_t first_bytes = 0;  // up to and including the first record
  uint64_t first_line = 1;   // where it starts
  uint64_t next_line = 1;    // after it
  bool first_has_number = false;
  std::vector<bool> second_has_number;  // per column; empty when there is no second record
  std::vector<bool> repeats_first;      // per column: a later record has the same there
  std::vector<bool> has_number;         // per column, in the later records (of the same length)
  // Per column: the first field such as 1,5 of later records that have numbers and such fields alone; empty:
  // none.
  std::vector<std::string> decimal_comma;
  size_t later = 0;
};

// Looks ahead in the input, takes nothing. Throws DataError without a good first record.
TableSample table_sample(Input& input, RecordRule rule);

// "'a', 'b' and 3 more".
std::string shown_names(const std::vector<std::string>& names);

// Its columns by name (with a header) and index.
class TableColumns {
 public:
  // Throws for a name that is there twice.
  TableColumns(std::string file, const TableSample& sample, Header header);

  bool has_header() const { return has_header_; }
  uint32_t size() const { return static_cast<uint32_t>(sample_.first.size()); }
  // "the columns are 'a', 'b' and 3 more", after the name that is nearest to one that is not there.
  std::string describe(const std::string& wanted = {}) const;
  std::optional<uint32_t> named(std::string_view name) const { return by_name_.find(name); }
  std::optional<uint32_t> indexed(const std::string& number) const;  // zero-based
  std::optional<uint32_t> find(const std::string& name) const;       // by name or zero-based index
  uint32_t column(const std::string& name, const char* role) const;  // throws when there is none
  // Throws for columns of a model that are not there, and for its label where `target` names it.
  void require(const std::vector<std::string>& names, const std::string& target) const;
  [[noreturn]] void fail_without_label() const;
  // Throws for a column of numbers with decimal commas, which would be words or no numbers, unless it is one
  // of `words`. `is_known`: a model says which columns have words.
  void refuse_decimal_commas(const std::vector<std::string>& words, bool is_known = false) const;
  [[noreturn]] void fail(const std::string& what) const;  // DataError at the first row

 private:
  std::string file_;
  const TableSample& sample_;
  bool is_guessed_;  // whether there is a header
  bool has_header_ = false;
  StringIndex by_name_;
};

// The tab of tsv; of csv the comma, or the semicolon when the first records have as many of it each (outside
// quotes) and none or differing numbers of commas, or only commas between digits: decimal ones.
char table_separator(Input& input, Format format);

// Whether 1,5 is a number in all tables of this process, also in those without semicolons (tabs, or quotes);
// at first it is not.
void read_decimal_commas(bool asked);

// label, target, class and y, in the order of preference.
std::span<const std::string_view> target_names();

// The fields of one table record (RFC 4180).
class Fields {
 public:
  // Spaces around a field do not count. Returns what is wrong with the record, or nothing. The byte after
  // each field is readable and no part of a number; the views last until the next split. Between semicolons,
  // or where it was asked for (read_decimal_commas), a comma between digits is a decimal point.
  std::string split(std::string_view record, char separator);

  // What is wrong with a record of another number of fields.
  std::string count_error(size_t expected, char separator) const;

  bool is_open() const { return is_open_; }  // the last record ends within quotes

  size_t size() const { return views_.size(); }
  std::string_view operator[](size_t i) const { return views_[i]; }
  std::vector<std::string> strings() const { return {views_.begin(), views_.end()}; }

 private:
  std::string_view unquote(std::string_view field);
  std::string_view with_point(std::string_view field);

  std::vector<std::string_view> views_;
  bool is_open_ = false;
  std::string unquoted_;  // fields that had "" or a decimal comma in them, each followed by a zero byte
};

}  // namespace selfnorm
