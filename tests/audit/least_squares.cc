#include "audit/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

Features dense(uint64_t rows, uint32_t columns, uint64_t seed, double offset = 0) {
  RandomStream random(seed);
  Features x;
  x.is_sparse = false;
  x.dense = {rows, columns, std::vector<float>(rows * columns)};
  for (float& v : x.dense.values) v = static_cast<float>(offset + random.normal());
  return x;
}

std::vector<double> plane(const Features& x, double intercept, const std::vector<double>& slope) {
  std::vector<double> y(x.rows(), intercept);
  for (uint64_t i = 0; i < x.rows(); ++i)
    for (uint32_t j = 0; j < x.columns(); ++j) y[i] += slope[j] * static_cast<double>(x.dense.row(i)[j]);
  return y;
}

TEST(LeastSquares, RecoversAPlaneFarFromTheOrigin) {
  const Features x = dense(2000, 3, 1, 1000);
  LeastSquares regression(3);
  regression.add(x, plane(x, -7, {0.5, -2, 0.25}));
  const LinearFit fit = regression.fit();
  EXPECT_NEAR(fit.slope[0], 0.5, 1e-9);
  EXPECT_NEAR(fit.slope[1], -2, 1e-9);
  EXPECT_NEAR(fit.slope[2], 0.25, 1e-9);
  EXPECT_NEAR(fit.intercept, -7, 1e-6);
  EXPECT_NEAR(fit.residual_variance, 0, 1e-12 * fit.variance);
  EXPECT_NEAR(fit.r_squared(), 1, 1e-12);
  EXPECT_EQ(fit.rank, 3u);
}

// y = x^2 on x = -2 .. 2: slope 0, intercept 2, Var y = 2.8.
TEST(LeastSquares, ResidualVarianceOfAParabola) {
  Features x;
  x.is_sparse = false;
  x.dense = {5, 1, {-2, -1, 0, 1, 2}};
  LeastSquares regression(1);
  regression.add(x, std::vector<double>{4, 1, 0, 1, 4});
  const LinearFit fit = regression.fit();
  EXPECT_NEAR(fit.slope[0], 0, 1e-12);
  EXPECT_NEAR(fit.intercept, 2, 1e-12);
  EXPECT_NEAR(fit.variance, 2.8, 1e-12);
  EXPECT_NEAR(fit.residual_variance, 2.8, 1e-12);
}

TEST(LeastSquares, BlocksAddUpToTheWhole) {
  const Features x = dense(1500, 20, 2, 3);
  RandomStream random(3);
  std::vector<double> y(1500);
  for (double& v : y) v = random.normal();
  LeastSquares whole(20), parts(20);
  whole.add(x, y);
  for (uint64_t begin = 0; begin < 1500; begin += 300) {
    Features part;
    part.is_sparse = false;
    part.dense = {300, 20, {x.dense.row(begin).begin(), x.dense.row(begin).begin() + 300 * 20}};
    parts.add(part, std::span(y).subspan(begin, 300));
  }
  const LinearFit a = whole.fit(), b = parts.fit();
  EXPECT_NEAR(a.residual_variance, b.residual_variance, 1e-12);
  for (size_t j = 0; j < 20; ++j) EXPECT_NEAR(a.slope[j], b.slope[j], 1e-11);
}

TEST(LeastSquares, SparseAndDenseRowsAgree) {
  Features sparse, full;
  sparse.sparse.columns = 4;
  full.is_sparse = false;
  full.dense.columns = 4;
  RandomStream random(4);
  std::vector<double> y;
  for (int i = 0; i < 60; ++i) {
    for (uint32_t j = 0; j < 4; ++j) {
      const float v = random.uniform() < 0.5 ? 0.0f : static_cast<float>(random.normal());
      full.dense.values.push_back(v);
      if (v == 0) continue;
      sparse.sparse.column.push_back(j);
      sparse.sparse.value.push_back(v);
    }
    sparse.sparse.begin.push_back(sparse.sparse.column.size());
    y.push_back(random.normal());
  }
  full.dense.rows = 60;
  LeastSquares a(4), b(4);
  a.add(sparse, y);
  b.add(full, y);
  EXPECT_EQ(a.fit().slope, b.fit().slope);
}

// Columns repeated, summed and constant: the fitted values are those of the independent columns alone.
TEST(LeastSquares, RankDeficientColumnsGiveTheSameFit) {
  const Features x = dense(400, 3, 5);
  Features more;
  more.is_sparse = false;
  more.dense.rows = 400;
  more.dense.columns = 6;
  RandomStream random(6);
  std::vector<double> y(400);
  for (uint64_t i = 0; i < 400; ++i) {
    const auto r = x.dense.row(i);
    more.dense.values.insert(more.dense.values.end(), {r[0], r[1], r[2], r[0], r[1] + r[2], 1.0f});
    y[i] = static_cast<double>(r[0] - r[2]) + random.normal();
  }
  LeastSquares plain(3), deficient(6);
  plain.add(x, y);
  deficient.add(more, y);
  const LinearFit a = plain.fit(), b = deficient.fit();
  EXPECT_EQ(b.rank, 3u);
  EXPECT_NEAR(a.residual_variance, b.residual_variance, 1e-9);
  for (uint64_t i = 0; i < 400; ++i) EXPECT_NEAR(a(x, i), b(more, i), 1e-5);
  EXPECT_LT(b.condition, 100);
}

TEST(LeastSquares, MoreColumnsThanRowsInterpolatesUnlessItIsToPredict) {
  const Features x = dense(30, 50, 7);
  RandomStream random(8);
  std::vector<double> y(30);
  for (double& v : y) v = random.normal();
  LeastSquares regression(50);
  regression.add(x, y);
  EXPECT_NEAR(regression.fit().residual_variance, 0, 1e-9);
  const LinearFit careful = regression.fit_for_prediction();
  EXPECT_GT(careful.ridge, 0);
  EXPECT_GT(careful.residual_variance, 0.1 * careful.variance);
  EXPECT_LT(careful.degrees_of_freedom, 0.9 * 30);
}

TEST(LeastSquares, PredictsNewRowsBetterThanInterpolationWhenRowsAreFew) {
  const Features x = dense(120, 80, 9), other = dense(1000, 80, 10);
  std::vector<double> slope(80);
  RandomStream random(11);
  for (double& v : slope) v = 0.1 * random.normal();
  std::vector<double> y = plane(x, 1, slope);
  for (double& v : y) v += random.normal();
  LeastSquares regression(80);
  regression.add(x, y);
  const std::vector<double> truth = plane(other, 1, slope);
  const auto error = [&](const LinearFit& fit) {
    double sum = 0;
    for (uint64_t i = 0; i < other.rows(); ++i) sum += std::pow(fit(other, i) - truth[i], 2);
    return sum / static_cast<double>(other.rows());
  };
  EXPECT_LT(error(regression.fit_for_prediction()), 0.7 * error(regression.fit()));
}

TEST(LeastSquares, AConstantYHasNoSlope) {
  const Features x = dense(50, 2, 12);
  LeastSquares regression(2);
  regression.add(x, std::vector<double>(50, 3.5));
  const LinearFit fit = regression.fit();
  EXPECT_NEAR(fit.intercept, 3.5, 1e-12);
  EXPECT_EQ(fit.variance, 0);
  EXPECT_EQ(fit.r_squared(), 1);
}

// The same data in other units: the same rank, residual and fitted values.
TEST(LeastSquares, UnitsDoNotMatter) {
  const Features x = dense(500, 4, 15);
  Features scaled = x;
  const float units[] = {1e-6f, 1, 1e7f, 1e3f};
  for (uint64_t i = 0; i < 500; ++i)
    for (size_t j = 0; j < 4; ++j) scaled.dense.values[i * 4 + j] *= units[j];
  std::vector<double> y = plane(x, 1, {1, -2, 3, 0.5});
  RandomStream random(16);
  for (double& v : y) v += random.normal();
  for (const bool careful : {false, true}) {
    LeastSquares a(4), b(4);
    a.add(x, y);
    b.add(scaled, y);
    const LinearFit plain = careful ? a.fit_for_prediction() : a.fit();
    const LinearFit other = careful ? b.fit_for_prediction() : b.fit();
    EXPECT_EQ(other.rank, 4u);
    EXPECT_NEAR(other.residual_variance, plain.residual_variance, 1e-6);
    for (uint64_t i = 0; i < 500; i += 50) EXPECT_NEAR(other(scaled, i), plain(x, i), 1e-4);
  }
}

TEST(LeastSquares, TheSameBitsForAnyNumberOfThreads) {
  const Features x = dense(700, 300, 13);
  std::vector<double> y(700);
  RandomStream random(14);
  for (double& v : y) v = random.normal();
  std::vector<double> slopes[2];
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    LeastSquares regression(300);
    regression.add(x, y);
    slopes[t] = regression.fit_for_prediction().slope;
  }
  EXPECT_EQ(slopes[0], slopes[1]);
}

// X'X of random X with a few more rows than columns; symmetric, so either order of its numbers.
std::vector<double> positive_definite(size_t n) {
  const size_t rows = n + 20;
  RandomStream random(7);
  std::vector<double> x(rows * n), out(n * n);
  for (double& v : x) v = random.normal();
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) out[i * n + j] += x[r * n + i] * x[r * n + j];
  return out;
}

TEST(Cholesky, TheFactorMakesTheMatrixAgain) {
  for (const size_t n : {1u, 2u, 127u, 128u, 129u, 300u}) {
    const std::vector<double> a = positive_definite(n);
    std::vector<double> l = a;
    ASSERT_TRUE(cholesky(l.data(), n));
    for (size_t i = 0; i < n; ++i) {
      EXPECT_GT(l[i * n + i], 0);
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (size_t k = 0; k <= j; ++k) sum += l[k * n + i] * l[k * n + j];
        ASSERT_NEAR(sum, a[j * n + i], 1e-10 * std::sqrt(a[i * n + i] * a[j * n + j]))
            << n << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Cholesky, RefusesAMatrixThatIsNotPositiveDefinite) {
  for (const size_t at : {0u, 130u, 299u}) {
    std::vector<double> a = positive_definite(300);
    a[at * 300 + at] = -1;
    EXPECT_FALSE(cholesky(a.data(), 300)) << at;
  }
}

TEST(Cholesky, HasTheSameBitsForAnyNumberOfThreads) {
  std::vector<double> one = positive_definite(400), many = one;
  {
    const ThreadLimit limit(1);
    ASSERT_TRUE(cholesky(one.data(), 400));
  }
  ASSERT_TRUE(cholesky(many.data(), 400));
  for (size_t j = 0; j < 400; ++j)
    for (size_t i = j; i < 400; ++i) ASSERT_EQ(one[j * 400 + i], many[j * 400 + i]);
}

}  // namespace
}  // namespace selfnorm
