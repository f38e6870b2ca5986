#include <gtest/gtest.h>

#include <algorithm>

#include "family/classifier/trainer.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(HoldOut, SplitsAllExamples) {
  for (const auto& [n, fraction, held] :
       {std::tuple{100u, 0.2, 20u}, std::tuple{2u, 0.9, 1u}, std::tuple{50u, 1e-9, 1u}}) {
    const HeldOut split = hold_out(n, fraction, 3);
    EXPECT_EQ(split.valid.size(), held);
    std::vector<uint64_t> all = split.train;
    all.insert(all.end(), split.valid.begin(), split.valid.end());
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), n);
    for (uint64_t i = 0; i < n; ++i) EXPECT_EQ(all[i], i);
    EXPECT_EQ(hold_out(n, fraction, 3).valid, split.valid);
  }
  EXPECT_NE(hold_out(100, 0.2, 4).valid, hold_out(100, 0.2, 3).valid);
}

TEST(HoldOut, RefusesWhatCannotBeSplit) {
  EXPECT_THROW(hold_out(1, 0.5, 0), Error);
  EXPECT_THROW(hold_out(10, 0, 0), Error);
  EXPECT_THROW(hold_out(10, 1, 0), Error);
}

}  // namespace
}  // namespace selfnorm
