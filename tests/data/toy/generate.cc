#include "data/toy/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/reader_checks.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

TEST(Generate, SameBitsForAnyThreads) {
  GenerateOptions options;
  GeneratedData a = generate(options);
  ThreadLimit one(1);
  GeneratedData b = generate(options);
  expect_equal(a.data, b.data);
  EXPECT_EQ(a.truth, b.truth);
  options.seed = 2;
  EXPECT_NE(generate(options).truth, a.truth);
}

// Binomial counts within 5 standard deviations: a false alarm in under 1e-6 of the seeds.
TEST(Generate, FrequenciesFollowTheModel) {
  GenerateOptions options{
      .rows = 20000, .features = 3, .classes = 3, .density = 0.3, .temperature = 0.7, .seed = 5};
  GeneratedData g = generate(options);
  const SparseMatrix& x = g.data.features.sparse;
  double n = static_cast<double>(options.rows);
  EXPECT_NEAR(static_cast<double>(x.column.size()) - n, 2 * n * 0.3, 5 * std::sqrt(2 * n * 0.21));
  std::vector<double> expected(3, 0), found(3, 0);
  for (uint64_t i = 0; i < options.rows; ++i) {
    EXPECT_EQ(x.column[x.begin[i]], 0u);
    double p[3], z = 0;
    for (uint32_t k = 0; k < 3; ++k) {
      double s = 0;
      for (uint64_t j = x.begin[i]; j < x.begin[i + 1]; ++j) s += double{g.truth[k * 3 + x.column[j]]};
      z += p[k] = std::exp(s);
    }
    for (uint32_t k = 0; k < 3; ++k) expected[k] += p[k] / z;
    found[g.data.target[i]] += 1;
  }
  for (uint32_t k = 0; k < 3; ++k) EXPECT_NEAR(found[k], expected[k], 5 * std::sqrt(expected[k]));
}

TEST(Generate, Extremes) {
  GenerateOptions options{.rows = 4, .features = 5, .classes = 2, .density = 0, .temperature = 1, .seed = 1};
  EXPECT_EQ(generate(options).data.features.sparse.column.size(), 4u);
  options.density = 1;
  EXPECT_EQ(generate(options).data.features.sparse.column.size(), 20u);
  options.density = NAN;
  EXPECT_THROW(generate(options), Error);
  options.density = 0.5;
  options.classes = 1;
  EXPECT_THROW(generate(options), Error);
}

}  // namespace
}  // namespace selfnorm
