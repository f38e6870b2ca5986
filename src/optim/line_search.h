// A step that satisfies the strong Wolfe conditions (Nocedal & Wright, Algorithms 3.5 and 3.6):
//     phi(t) <= phi(0) + c1 t phi'(0)      and      |phi'(t)| <= c2 |phi'(0)|,      c1 = 1e-4, c2 = 0.9.
#pragma once

#include <functional>

namespace selfnorm {

struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;
};

struct LineResult {
  bool success = false;
  LinePoint point;
  double last_step = 0;  // the step phi was last called with
};

// `noise` is the error of phi below which two values count as equal. Non-finite values shorten the step.
LineResult strong_wolfe(const std::function<LinePoint(double)>& phi, const LinePoint& start,
                        double first_step, double noise);

}  // namespace selfnorm
