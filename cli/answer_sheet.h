// The answers of `predict`, one after the other as they are found: a table for people on a terminal, CSV
// elsewhere, JSON when asked; on standard output, or in --out, which appears whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "grammar/arguments.h"
#include "output.h"

namespace selfnorm::cli {

// Whether the answers of this `predict` are a table for people.
bool is_table_for(const Arguments& arguments);

class AnswerSheet {
 public:
  // Nothing is an empty field. Tables show four or five digits, CSV all that tell numbers apart.
  struct Cell {
    enum class Kind { nothing, whole, real, text };
    Cell() = default;
    Cell(uint64_t value) : kind(Kind::whole), whole(value) {}
    Cell(double value) : kind(Kind::real), real(value) {}
    Cell(std::string value) : kind(Kind::text), text(std::move(value)) {}

    Kind kind = Kind::nothing;
    uint64_t whole = 0;
    double real = 0;
    std::string text{};
  };

  // `object`: the members before the list `list` in the one object of --json.
  AnswerSheet(const Arguments& arguments, std::vector<std::string> columns, const Json& object,
              const std::string& list = "rows");

  // Whether answers are given as objects, by put, or else by their cells, one a column.
  bool is_json() const { return layout_ == Layout::inside || layout_ == Layout::lines; }
  bool is_table() const { return layout_ == Layout::table; }
  void row(std::vector<Cell> cells);
  void put(const std::string& object);
  // Who asks through a pipe or a terminal may be waiting.
  void flush();
  void finish();

 private:
  // `inside` the one object of --json, or objects as `lines`.
  enum class Layout { table, csv, inside, lines };
  void write(const std::string& text);
  void write_table();

  std::vector<std::string> columns_;
  Layout layout_;
  std::unique_ptr<AtomicFile> file_;
  RowSheet rows_;
  std::vector<std::vector<Cell>> waiting_;  // of the table
  std::vector<size_t> width_;
  bool has_head_ = false;
};

}  // namespace selfnorm::cli
