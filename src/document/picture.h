// A figure with its numbers, for files of a command and for the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/document.h"
#include "document/figure.h"

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

// Counts of values in equal bins, as densities.
struct Bins {
  double low = 0, width = 1;
  size_t count = 1;

  double edge(size_t k) const { return low + width * static_cast<double>(k); }
  double middle(size_t k) const { return low + width * (static_cast<double>(k) + 0.5); }
};

// Over the central 99% of values and a tenth of their range on either side.
Bins real_bins(const std::vector<double>& values, size_t count);
// Of whole numbers, a bin for each, or for a few where there would be more than `most`: from the least value
// to the one that 99.5% do not exceed. An edge is half-way between two numbers.
Bins whole_bins(const std::vector<double>& values, size_t most);

// count / (n width) of every bin, n all values, those beyond the bins included.
std::vector<double> bin_densities(const std::vector<double>& values, const Bins& bins);

Series histogram_bars(const std::string& name, const std::vector<double>& values, const Bins& bins);
// The same as a line with steps, to lie over bars.
Series histogram_steps(const std::string& name, const std::vector<double>& values, const Bins& bins);

}  // namespace selfnorm
