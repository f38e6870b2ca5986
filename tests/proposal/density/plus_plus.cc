#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "math/parallel.h"
#include "proposal/density/mixture_em.h"
#include "random_data.h"

namespace selfnorm {
namespace {

TEST(PlusPlus, FindsClustersThatAreFarApart) {
  std::vector<double> rows = random_vector<double>(2 * 600, 3);
  for (size_t i = 0; i < 600; ++i) rows[2 * i] += 1000 * static_cast<double>(i % 6);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<uint32_t> nearest = plus_plus_clusters(rows, 2, 6, seed);
    std::set<uint32_t> names(nearest.begin(), nearest.begin() + 6);
    EXPECT_EQ(names.size(), 6u);
    for (size_t i = 6; i < 600; ++i) EXPECT_EQ(nearest[i], nearest[i % 6]);
  }
}

TEST(PlusPlus, EveryIndexOccurs) {
  const std::vector<double> rows = random_vector<double>(300, 5);
  const std::vector<uint32_t> nearest = plus_plus_clusters(rows, 1, 40, 1);
  EXPECT_EQ(std::set<uint32_t>(nearest.begin(), nearest.end()).size(), 40u);
  EXPECT_EQ(*std::ranges::max_element(nearest), 39u);
}

TEST(PlusPlus, NoMoreThanDistinctRows) {
  const std::vector<double> rows{1, 2, 1, 2, 1, 2, 3};
  const std::vector<uint32_t> nearest = plus_plus_clusters(rows, 1, 5, 0);
  EXPECT_EQ(*std::ranges::max_element(nearest), 2u);
  EXPECT_EQ(plus_plus_clusters(std::vector<double>(4, 7.0), 2, 3, 0), (std::vector<uint32_t>{0, 0}));
}

TEST(PlusPlus, AnyNumberOfThreadsGivesTheSame) {
  const std::vector<double> rows = random_vector<double>(2 * 5000, 7);
  std::vector<std::vector<uint32_t>> nearest;
  for (const int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    nearest.push_back(plus_plus_clusters(rows, 2, 12, 0));
  }
  EXPECT_EQ(nearest[0], nearest[1]);
}

}  // namespace
}  // namespace selfnorm
