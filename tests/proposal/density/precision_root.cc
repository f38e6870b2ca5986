#include "proposal/density/precision_root.h"

#include <cmath>

#include "gradient_check.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Shape = PrecisionRoot::Shape;

const std::vector<double> kCovariance{4, 1.2, -0.5, 1.2, 1, 0.1, -0.5, 0.1, 2};

TEST(PrecisionRoot, WhitensTheCovariance) {
  const PrecisionRoot root = PrecisionRoot::of_covariance(3, kCovariance);
  for (uint32_t a = 0; a < 3; ++a)
    for (uint32_t b = 0; b < 3; ++b) {  // (W S W')_ab = [a = b]
      double sum = 0;
      for (uint32_t i = 0; i < 3; ++i)
        for (uint32_t j = 0; j < 3; ++j) sum += root.at(a, i) * kCovariance[3 * i + j] * root.at(b, j);
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-13);
    }
  // det S = 4 (2 - .01) - 1.2 (2.4 + .05) - .5 (.12 + .5)
  EXPECT_NEAR(root.log_determinant(), -0.5 * std::log(4 * 1.99 - 1.2 * 2.45 - 0.5 * 0.62), 1e-13);
}

TEST(PrecisionRoot, ProductsAgreeWithTheEntries) {
  for (const PrecisionRoot& root :
       {PrecisionRoot::of_covariance(3, kCovariance), PrecisionRoot(Shape::diagonal, 3, {1, 2, 0.5})}) {
    const std::vector<double> v{0.5, -1, 2};
    std::vector<double> whitened = v, pulled = v, back = v;
    root.whiten(whitened);
    root.pull_back(pulled);
    for (uint32_t i = 0; i < 3; ++i) {
      double row = 0, column = 0;
      for (uint32_t j = 0; j < 3; ++j) {
        row += root.at(i, j) * v[j];
        column += root.at(j, i) * v[j];
      }
      EXPECT_NEAR(whitened[i], row, 1e-14);
      EXPECT_NEAR(pulled[i], column, 1e-14);
    }
    root.whiten(back);
    root.unwhiten(back);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_NEAR(back[i], v[i], 1e-13);
  }
}

TEST(PrecisionRoot, ParametersGoBackAndForthAndHaveTheirGradient) {
  for (const PrecisionRoot& root :
       {PrecisionRoot::of_covariance(3, kCovariance), PrecisionRoot(Shape::diagonal, 3, {1, 2, 0.5})}) {
    const std::vector<double> delta{0.5, -1, 2}, parameters = root.parameters();
    std::vector<double> z = delta, gradient(parameters.size());
    root.whiten(z);
    root.add_gradient(0.75, delta, z, gradient);
    const auto value = [&](const std::vector<double>& p) {
      const PrecisionRoot moved = PrecisionRoot::of_parameters(root.shape(), 3, p);
      std::vector<double> y = delta;
      moved.whiten(y);
      return 0.75 * (moved.log_determinant() - 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]));
    };
    expect_gradient(value, parameters, gradient);
  }
}

TEST(PrecisionRoot, UnscaledIsTheRootInOtherUnits) {
  const PrecisionRoot root = PrecisionRoot::of_covariance(3, kCovariance);
  const std::vector<double> scale{2, 0.5, 10};
  std::vector<double> covariance = kCovariance;
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j) covariance[3 * i + j] *= scale[i] * scale[j];
  const PrecisionRoot expected = PrecisionRoot::of_covariance(3, covariance);
  for (size_t p = 0; p < 6; ++p) EXPECT_NEAR(root.unscaled(scale).values()[p], expected.values()[p], 1e-13);
}

TEST(PrecisionRoot, BadNumbersAreErrors) {
  EXPECT_THROW(PrecisionRoot(Shape::full, 2, {1, 0}), Error);
  EXPECT_THROW(PrecisionRoot(Shape::full, 2, {1, 0, 0}), Error);
  EXPECT_THROW(PrecisionRoot(Shape::full, 2, {1, std::nan(""), 1}), Error);
  EXPECT_THROW(PrecisionRoot(Shape::diagonal, 2, {1, -1}), Error);
  EXPECT_THROW(PrecisionRoot(Shape::diagonal, 1, {1e-310}), Error);
  const std::vector<double> singular{1, 1, 1, 1}, not_a_number{1, 0, std::nan(""), 1};
  EXPECT_THROW(PrecisionRoot::of_covariance(2, singular), Error);
  EXPECT_THROW(PrecisionRoot::of_covariance(2, not_a_number), Error);
}

}  // namespace
}  // namespace selfnorm
