#include "selfnorm/train/density_batches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace selfnorm {
namespace {

TEST(DensityBatches, AnEpochHasEveryRowOnceAndAStepIsFoundAgain) {
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 0.0f);
  const auto data = make_point_source(1, values);
  std::vector<uint64_t> rows(96);
  std::iota(rows.begin(), rows.end(), uint64_t{2});
  DensityOptions options;
  options.energy = "mlp:2";
  options.proposal = "gaussian";
  options.batch = 32;
  const DensityProblem problem(*data, rows, options);
  DensityBatches batches(problem, rows), other(problem, rows);
  EXPECT_EQ(batches.per_epoch(), 3u);
  std::set<long> seen;
  for (uint64_t step = 3; step < 6; ++step) {
    batches.read(step);
    ASSERT_EQ(batches.points().rows, 32u);
    for (uint64_t i = 0; i < 32; ++i) {
      float x = batches.points().row(i)[0];
      problem.standardisation().undo({&x, 1, 1}, {&x, 1});
      EXPECT_TRUE(seen.insert(std::lround(x)).second);
    }
  }
  EXPECT_EQ(*seen.begin(), 2);
  EXPECT_EQ(*seen.rbegin(), 97);
  other.read(5);  // without those before
  EXPECT_TRUE(std::equal(other.points().data, other.points().data + 32, batches.points().data));
}

}  // namespace
}  // namespace selfnorm
