// A table of numbers and words: of documents, of pages, as CSV.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace selfnorm {

using Cell = std::variant<double, std::string>;

struct Table {
  std::string caption = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<Cell>> rows = {};

  void add(std::vector<Cell> row);  // as many cells as columns
};

// Whole numbers in full, others with four significant digits, so that machines do not differ; text as it is.
std::string written(const Cell& cell);

// To so many significant digits, so that files are small; what is not finite or too small for that, as it is.
double rounded(double value, int digits);

std::string csv_text(const Table& table);

}  // namespace selfnorm
