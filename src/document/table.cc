#include "document/table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// RFC 4180.
std::string csv_cell(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  const std::string& text = std::get<std::string>(cell);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += '"';
  }
  return out + "\"";
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  SELFNORM_CHECK(row.size() == columns.size());
  rows.push_back(std::move(row));
}

std::string written(const Cell& cell) {
  const double* number = std::get_if<double>(&cell);
  if (number == nullptr) return std::get<std::string>(cell);
  const bool whole = *number == std::trunc(*number) && std::abs(*number) < 1e15;
  return whole ? fmt::format("{:.0f}", *number + 0.0) : fmt::format("{:.4g}", *number);
}

double rounded(double value, int digits) {
  std::array<char, 64> text;
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  std::from_chars(text.data(), written.ptr, value);
  return value;
}

std::string csv_text(const Table& table) {
  std::string out;
  const auto line = [&out](const auto& cells) {
    std::string separator;
    for (const auto& cell : cells) {
      out += separator + csv_cell(cell);
      separator = ",";
    }
    out += "\n";
  };
  line(table.columns);
  for (const auto& row : table.rows) line(row);
  return out;
}

}  // namespace selfnorm
