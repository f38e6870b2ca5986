// What an experiment leaves: its settings, its numbers, the figure, and words computed from the numbers.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "selfnorm/reproduce/figure.h"

namespace selfnorm {

using Cell = std::variant<double, std::string>;

struct Table {
  std::string caption = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<Cell>> rows = {};

  void add(std::vector<Cell> row);  // as many cells as columns
};

struct Record {
  std::string name;
  std::string title;
  std::string paper;        // what the paper says
  std::string measured;     // what was measured, in one sentence or two
  std::string differences;  // between the two settings
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, Cell>> facts;                // numbers by name, for programs
  Table data;                                                     // everything: the CSV
  std::vector<Table> tables;                                      // of the document
  Figure figure;                                                  // without panels: there is nothing to draw
  std::vector<std::pair<std::string, Figure>> more_figures = {};  // NAME-FIRST.svg, ...

  double number(const std::string& fact) const;  // of facts
};

// Whole numbers in full, others with four significant digits, so that rounding differences of machines do not
// show; text as it is.
std::string written(const Cell& cell);

std::string csv_text(const Table& table);
std::string json_text(const Record& record, double seconds);

// Writes NAME.json, NAME.csv and NAME.gp into `folder`, which is created, and draws NAME.svg, and the same of
// more figures. Returns why
// there is no figure, or an empty text. Throws Error when a file cannot be written.
std::string write_record(const Record& record, double seconds, const std::string& folder);

}  // namespace selfnorm
