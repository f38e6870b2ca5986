#include "selfnorm/math/parallel.h"

#include <gtest/gtest.h>

#include <atomic>

namespace selfnorm {
namespace {

TEST(Parallel, RangesCoverEverythingOnce) {
  for (const size_t n : {0u, 1u, 99u, 100u, 101u}) {
    std::vector<std::atomic<int>> seen(n);
    parallel_ranges(n, 10, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++seen[i];
    });
    for (const auto& s : seen) EXPECT_EQ(s, 1);
  }
}

TEST(Parallel, OrderedSumAddsPieces) {
  EXPECT_EQ(ordered_sum(10, 3, [](size_t begin, size_t end) { return static_cast<double>(end - begin); }),
            10);
  EXPECT_EQ(ordered_sum(0, 3, [](size_t, size_t) { return 1.0; }), 0);
}

TEST(Parallel, PlainThreadsDoTheSameLoop) {
  std::vector<std::atomic<int>> seen(50);
  units_on_plain_threads(50, [&](size_t unit) { ++seen[unit]; });
  for (const auto& s : seen) EXPECT_EQ(s, 1);
  EXPECT_THROW(units_on_plain_threads(4, [](size_t) { throw std::runtime_error("unit"); }),
               std::runtime_error);
}

TEST(Parallel, ErrorsReachTheCaller) {
  EXPECT_THROW(parallel_units(4,
                              [](size_t unit) {
                                if (unit == 2) throw std::runtime_error("unit");
                              }),
               std::runtime_error);
}

}  // namespace
}  // namespace selfnorm
