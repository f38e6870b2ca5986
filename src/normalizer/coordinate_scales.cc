#include "selfnorm/normalizer/coordinate_scales.h"

#include <algorithm>

namespace selfnorm {

std::vector<double> CoordinateScales::scales() const {
  std::vector<double> out(square_);
  for (double& s : out) s = count_ < 2 ? 0 : std::sqrt(s / static_cast<double>(count_ - 1));
  const double largest = *std::max_element(out.begin(), out.end());
  for (double& s : out) s = largest > 0 ? std::max(s, 1e-6 * largest) : 1;
  return out;
}

}  // namespace selfnorm
