// Counts of values in equal bins, as densities.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/figure.h"

namespace selfnorm {

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
