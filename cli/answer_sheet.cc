#include "answer_sheet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "data/input/characters.h"
#include "data/write.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kRowsAtOnce = 200;  // of a table, whose columns are as wide as these need
constexpr size_t kWidestCell = 60;   // characters

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// What a terminal can show of it, on one line.
std::string shown(std::string text) {
  text = utf8_repaired(text);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  if (characters(text) <= kWidestCell) return text;
  size_t end = 0;
  for (size_t count = 0; count < kWidestCell - 3; ++count)
    end += std::max<size_t>(1, utf8_length(std::string_view(text).substr(end)));
  return text.substr(0, end) + "...";
}

std::string shown_number(double value) {
  const double size = std::abs(value);
  return size == 0 || (size >= 0.001 && size < 100) ? fmt::format("{:.4f}", value)
                                                    : fmt::format("{:.5g}", value);
}

std::string cell_text(const AnswerSheet::Cell& cell, bool is_table) {
  using Kind = AnswerSheet::Cell::Kind;
  switch (cell.kind) {
    case Kind::whole:
      return std::to_string(cell.whole);
    case Kind::real:
      return is_table ? shown_number(cell.real) : fmt::format("{}", cell.real);
    case Kind::text:
      return is_table ? shown(cell.text) : csv_field(cell.text);
    case Kind::nothing:
      break;
  }
  return "";
}

std::string csv_head(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& name : columns) line += (line.empty() ? "" : ",") + csv_field(name);
  return line;
}

}  // namespace

bool is_table_for(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  if (arguments.common.json && given.out.empty()) return false;
  const bool is_for_people = given.out.empty() && isatty(STDOUT_FILENO) == 1;
  return given.output_format == "table" || (given.output_format == "auto" && is_for_people);
}

AnswerSheet::AnswerSheet(const Arguments& arguments, std::vector<std::string> columns, const Json& object,
                         const std::string& list)
    : columns_(std::move(columns)),
      layout_(is_table_for(arguments)                                  ? Layout::table
              : arguments.common.json && arguments.predict.out.empty() ? Layout::inside
              : arguments.predict.output_format == "json"              ? Layout::lines
                                                                       : Layout::csv),
      file_(arguments.predict.out.empty() ? nullptr : std::make_unique<AtomicFile>(arguments.predict.out)),
      rows_(layout_ == Layout::inside, layout_ == Layout::csv ? csv_head(columns_) : "", object, list,
            [this](const std::string& text) { write(text); }),
      width_(columns_.size()) {}

void AnswerSheet::write(const std::string& text) { file_ ? file_->write(text) : print(text); }

void AnswerSheet::row(std::vector<Cell> cells) {
  if (is_table()) {
    waiting_.push_back(std::move(cells));
    if (waiting_.size() == kRowsAtOnce) write_table();
    return;
  }
  std::string line;
  for (size_t j = 0; j < cells.size(); ++j) line += (j > 0 ? "," : "") + cell_text(cells[j], false);
  rows_.put(line);
}

void AnswerSheet::put(const std::string& object) { rows_.put(object); }

// Texts to the left, numbers to the right. Columns never become narrower.
void AnswerSheet::write_table() {
  std::vector<std::vector<std::string>> texts;
  if (!has_head_) texts.push_back(columns_);
  has_head_ = true;
  for (const auto& cells : waiting_) {
    texts.emplace_back();
    for (const Cell& cell : cells) texts.back().push_back(cell_text(cell, true));
  }
  for (const auto& row : texts)
    for (size_t j = 0; j < row.size(); ++j) width_[j] = std::max(width_[j], characters(row[j]));
  const auto is_text = [this](size_t j) {
    return std::ranges::any_of(
        waiting_, [j](const auto& cells) { return j < cells.size() && cells[j].kind == Cell::Kind::text; });
  };
  std::vector<bool> is_left;
  for (size_t j = 0; j < columns_.size(); ++j) is_left.push_back(is_text(j));
  for (const auto& row : texts) {
    std::string line;
    for (size_t j = 0; j < row.size(); ++j) {
      const std::string room(width_[j] - characters(row[j]), ' ');
      line += (j > 0 ? "  " : "") + (is_left[j] ? row[j] + room : room + row[j]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    write(line + "\n");
  }
  waiting_.clear();
}

void AnswerSheet::flush() {
  if (!waiting_.empty()) write_table();
  if (!file_) flush_output();
}

void AnswerSheet::finish() {
  if (is_table()) {
    if (!waiting_.empty() || !has_head_) write_table();
  } else {
    rows_.finish();
  }
  if (file_) file_->commit();
}

}  // namespace selfnorm::cli
