// Bands between quantiles of predictions along x, the median and the targets.
#pragma once

#include <string>
#include <vector>

#include "document/figure.h"

namespace selfnorm {

struct Fan {
  std::vector<double> x;
  std::vector<std::vector<double>> quantiles;        // of levels() for every x
  std::vector<double> target_x = {}, target_y = {};  // empty: none

  static const std::vector<double>& levels();
};
Panel fan_panel(const Fan& fan, const std::string& x_label, const std::string& y_label);

}  // namespace selfnorm
