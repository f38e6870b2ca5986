#include "math/parallel.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/interruption.h"

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

// Asked for in the third unit: of the others, only those that had begun elsewhere come to their end.
TEST(Parallel, NoUnitBeginsAfterAnInterruption) {
  for (const auto& loop : {run_units, units_on_plain_threads}) {
    const ThreadLimit two(2);
    std::atomic<size_t> begun{0};
    const auto body = [&begun](size_t) {
      if (++begun >= 3) request_interruption();
    };
    EXPECT_THROW(loop(1'000'000, body), Interrupted);
    EXPECT_LE(begun, 4u);
    withdraw_interruption();
    begun = 0;
    loop(2, [&begun](size_t) { ++begun; });
    EXPECT_EQ(begun, 2u);
  }
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
