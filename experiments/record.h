// What an experiment leaves: its settings, its numbers, the figure, and words computed from the numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "document/figure.h"
#include "document/table.h"

namespace selfnorm {

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
  // What to look for in the figure and in more figures, a plain sentence each; without one, what the paper
  // says.
  std::vector<std::string> looks = {};

  double number(const std::string& fact) const;  // of facts
};

// Everything, and under "report" the document of the page (record_document.h).
std::string json_text(const Record& record, double seconds, const std::string& group = "papers");

// Writes NAME.json, NAME.csv and NAME.gp into `folder`, which is created, and draws NAME.svg, and the same of
// more figures. Returns why there is no figure, or an empty text. Throws Error when a file cannot be written.
std::string write_record(const Record& record, double seconds, const std::string& folder,
                         const std::string& group = "papers");

}  // namespace selfnorm
