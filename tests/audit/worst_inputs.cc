#include <gtest/gtest.h>

#include <string>

#include "audit/stream.h"
#include "math/random.h"

namespace selfnorm {
namespace {

struct Named : WorstInput {
  std::string name;
};

TEST(WorstInputs, AreThoseOfTheSortedList) {
  RandomStream random(3);
  std::vector<Named> all;
  WorstInputs<Named> worst(7);
  for (uint64_t i = 0; i < 500; ++i) {
    // Sizes 0, 0.5, ..., 9.5 of both signs: many are equal.
    const double error = (static_cast<double>(random.below(40)) - 20) / 2;
    all.push_back({{i, error}, std::to_string(i)});
    worst.add(all.back());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Named& a, const Named& b) { return std::abs(a.error) > std::abs(b.error); });
  const std::vector<Named> found = worst.taken();
  ASSERT_EQ(found.size(), 7u);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(found[i].name, all[i].name);
}

TEST(WorstInputs, TakesOnlyWhatIsWorse) {
  WorstInputs<WorstInput> worst(1), none(0);
  EXPECT_TRUE(worst.takes({5, 0}));
  worst.add({5, -2});
  EXPECT_FALSE(worst.takes({6, 2}));
  EXPECT_TRUE(worst.takes({4, 2}));
  EXPECT_TRUE(worst.takes({6, 2.5}));
  EXPECT_FALSE(none.takes({0, 100}));
  none.add({0, 100});
  EXPECT_TRUE(none.taken().empty());
}

}  // namespace
}  // namespace selfnorm
