// One derivative check for everything: central differences of f along every coordinate (or along `directions`
// random ones), compared with the analytic gradient. Error rate: none, the draws are fixed by their seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace selfnorm {

using Function = std::function<double(const std::vector<double>&)>;

inline void expect_gradient(const Function& f, const std::vector<double>& at,
                            const std::vector<double>& gradient, double step = 1e-5,
                            double tolerance = 1e-6) {
  ASSERT_EQ(at.size(), gradient.size());
  for (size_t i = 0; i < at.size(); ++i) {
    std::vector<double> x = at;
    const double h = step * std::max(1.0, std::abs(at[i]));
    x[i] = at[i] + h;
    const double above = f(x);
    x[i] = at[i] - h;
    const double below = f(x);
    const double numeric = (above - below) / (2 * h);
    EXPECT_NEAR(gradient[i], numeric, tolerance * std::max(1.0, std::abs(numeric))) << "coordinate " << i;
  }
}

}  // namespace selfnorm
