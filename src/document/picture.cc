#include "document/picture.h"

#include <algorithm>
#include <cmath>

namespace selfnorm {

ReportFigure shown(Picture picture) {
  return {std::move(picture.name), std::move(picture.look), std::move(picture.figure)};
}

std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most) {
  std::vector<uint64_t> chosen(std::min(rows, most));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i * rows / chosen.size();
  return chosen;
}

double shortened(double value) { return rounded(value, 5); }

std::vector<double> sorted_numbers(const std::vector<double>& values) {
  std::vector<double> sorted;
  for (const double v : values)
    if (!std::isnan(v)) sorted.push_back(v);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace selfnorm
