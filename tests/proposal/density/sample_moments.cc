#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "proposal/density/precision_root.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(SampleMoments, MeansAndScales) {
  const std::vector<float> rows{1, 1000, 0, 3, 1000, 0, 5, 1000, 0};
  const ColumnMoments m = column_moments({rows.data(), 3, 3});
  EXPECT_EQ(m.mean, (std::vector<double>{3, 1000, 0}));
  EXPECT_NEAR(m.scale[0], std::sqrt(8.0 / 3), 1e-15);
  EXPECT_EQ(m.scale[1], 1);     // constant: a thousandth of its magnitude
  EXPECT_EQ(m.scale[2], 1e-3);  // constant at 0
  EXPECT_EQ(m.is_constant, (std::vector<bool>{false, true, true}));
}

TEST(SampleMoments, SmallUnitsAreNotConstant) {
  const std::vector<float> rows{1e-12f, 3e-12f};
  const ColumnMoments m = column_moments({rows.data(), 2, 1});
  EXPECT_FALSE(m.is_constant[0]);
  EXPECT_NEAR(m.scale[0], 1e-12, 1e-18);
}

TEST(SampleMoments, WeightedRootIsThatOfTheWeightedCovariance) {
  const std::vector<float> rows{1, 2, -1, 0, 3, -2, 0.5, 0.5, -2, 1};
  const std::vector<double> weight{1, 2, 0.5, 1, 1.5}, centre{0.25, -0.5};
  const Points data{rows.data(), 5, 2};
  std::vector<double> covariance(4);
  for (size_t i = 0; i < 5; ++i)
    for (size_t a = 0; a < 2; ++a)
      for (size_t b = 0; b < 2; ++b)
        covariance[2 * a + b] += weight[i] * (static_cast<double>(data.row(i)[a]) - centre[a]) *
                                 (static_cast<double>(data.row(i)[b]) - centre[b]) / 5;
  const PrecisionRoot expected = PrecisionRoot::of_covariance(2, covariance);
  const PrecisionRoot root = fitted_root(data, column_moments(data), weight, centre);
  for (size_t p = 0; p < 3; ++p) EXPECT_NEAR(root.values()[p], expected.values()[p], 1e-5);  // the ridge
}

TEST(SampleMoments, AnyNumberOfThreadsGivesTheSame) {
  const std::vector<float> rows = random_vector<float>(30000, 2);
  const Points data{rows.data(), 10000, 3};
  std::vector<std::vector<double>> roots;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    const PrecisionRoot root = fitted_root(data, column_moments(data));
    roots.emplace_back(root.values().begin(), root.values().end());
  }
  EXPECT_EQ(roots[0], roots[1]);
  EXPECT_EQ(roots[0], roots[2]);
}

TEST(SampleMoments, WhatIsNotFiniteIsNamed) {
  const std::vector<float> rows{1, 2, 3, std::nanf("")};
  try {
    require_finite_points({rows.data(), 2, 2});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("row 1, column 1"), std::string::npos) << e.what();
  }
  EXPECT_THROW(require_finite_points({rows.data(), 0, 2}), Error);
  EXPECT_THROW(require_finite_points({rows.data(), 2, 0}), Error);
}

}  // namespace
}  // namespace selfnorm
