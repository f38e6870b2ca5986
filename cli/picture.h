// A picture that a command draws: NAME.svg, the program NAME.gp that draws it, and NAME.csv with its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selfnorm/reproduce/record.h"

namespace selfnorm::cli {

struct Picture {
  std::string name;
  Table data;
  Figure figure = {};  // without panels: numbers alone
};

// Into `folder`, which is created; the paths of the data and of what was drawn. Warns, unless `quiet`, where
// gnuplot could not draw: data and programs are there then. `option` is named in errors.
std::vector<std::string> write_pictures(const std::vector<Picture>& pictures, const std::string& folder,
                                        const std::string& option, bool quiet);

// At most `most` rows, evenly spread.
std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most);
// To five digits, so that files are small.
double shortened(double value);

// Bands between quantiles of predictions along x, the median and the targets.
struct Fan {
  std::vector<double> x;
  std::vector<std::vector<double>> quantiles;  // of levels() for every x
  std::vector<double> target_x, target_y;

  static const std::vector<double>& levels();
};
Panel fan_panel(const Fan& fan, const std::string& x_label, const std::string& y_label);

}  // namespace selfnorm::cli
