#include "table_columns.h"

#include <fmt/ranges.h>

#include <cmath>

#include "base/failure.h"
#include "data/read.h"

namespace selfnorm::cli {
namespace {

const char* header_word(Header header) {
  return header == Header::yes ? "yes" : header == Header::no ? "no" : "auto";
}

}  // namespace

KeptColumns::KeptColumns(const std::vector<std::string>& names, const std::string& path, Header header)
    : names_(names) {
  if (names.empty()) return;
  if (path == "-") throw Error("--keep: standard input can be read only once; store the data in a file");
  *this = KeptColumns(names, read_frame(path, {.categorical = names, .header = header_word(header)}));
}

KeptColumns::KeptColumns(const std::vector<std::string>& names, const Frame& frame) : names_(names) {
  for (const std::string& name : names) {
    const FrameColumn* column = frame.find(name);
    if (column == nullptr) {
      std::vector<std::string> there;
      for (const FrameColumn& c : frame.columns) there.push_back(c.name);
      throw_error("--keep: {} has no column '{}'; it has {}", frame.file, name,
                  fmt::format("{}", fmt::join(there, ", ")));
    }
    columns_.push_back(*column);
  }
}

void KeptColumns::add(uint64_t row, std::vector<AnswerSheet::Cell>& cells) const {
  for (const FrameColumn& column : columns_) {
    SELFNORM_CHECK(row < (column.is_numeric ? column.number.size() : column.level.size()));
    if (column.is_numeric)
      cells.push_back(std::isnan(column.number[row]) ? AnswerSheet::Cell()
                                                     : AnswerSheet::Cell(column.number[row]));
    else
      cells.push_back(column.level[row] == kMissingLevel
                          ? AnswerSheet::Cell()
                          : AnswerSheet::Cell(column.levels[column.level[row]]));
  }
}

void KeptColumns::add(uint64_t row, Json& object) const {
  std::vector<AnswerSheet::Cell> cells;
  add(row, cells);
  for (size_t i = 0; i < cells.size(); ++i) {
    Json& value = object[names_[i]];
    if (cells[i].kind == AnswerSheet::Cell::Kind::real) value = cells[i].real;
    if (cells[i].kind == AnswerSheet::Cell::Kind::text) value = cells[i].text;
  }
}

}  // namespace selfnorm::cli
