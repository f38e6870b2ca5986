// The walls of a box, at which moving points are reflected: x <- 2 wall - x, and the velocity changes sign.
// Between two walls that is the path of a billiard ball, which keeps volume and can be reversed.
#pragma once

#include <span>

#include "data/points/points.h"

namespace selfnorm {

class BoxWalls {
 public:
  explicit BoxWalls(const Support& support) : support_(support) {}

  // `target` is where coordinate j would be without walls; returns where it is, and negates `velocity` if it
  // met an odd number of them. What is not finite is returned as it is.
  float reflect(uint32_t j, double target, double& velocity) const;

 private:
  Support support_;
};

}  // namespace selfnorm
