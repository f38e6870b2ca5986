// A figure with its numbers, for files of a command and for the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/document.h"

namespace selfnorm {

struct Picture {
  std::string name;
  std::string look = {};  // what to look for
  Table data = {};
  Figure figure = {};  // without panels: numbers alone
};

// Its name is the id.
ReportFigure shown(Picture picture);

// At most `most` rows, evenly spread.
std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most);
// To five digits, so that files are small.
double shortened(double value);

// The numbers among `values` in increasing order.
std::vector<double> sorted_numbers(const std::vector<double>& values);
// That with a share of the others below it; `sorted` is not empty.
double at_share(const std::vector<double>& sorted, double share);

}  // namespace selfnorm
