#include "audit/confusion.h"

#include <gtest/gtest.h>

namespace selfnorm {
namespace {

TEST(Confusion, CountsClassesAndPairs) {
  ConfusionCount count;
  for (const auto& [truth, best] :
       {std::pair{0u, 0u}, {0u, 2u}, {0u, 2u}, {1u, 1u}, {2u, 0u}, {2u, 1u}, {1u, 1u}})
    count.add(truth, best);
  const Confusion found = count.taken(3);
  ASSERT_EQ(found.classes.size(), 3u);
  EXPECT_EQ(found.classes[0].inputs, 3u);
  EXPECT_EQ(found.classes[0].predicted, 2u);
  EXPECT_EQ(found.classes[0].correct, 1u);
  EXPECT_EQ(found.classes[1].correct, 2u);
  EXPECT_EQ(found.classes[1].predicted, 3u);
  EXPECT_EQ(found.classes[2].correct, 0u);
  ASSERT_EQ(found.pairs.size(), 3u);
  EXPECT_EQ(found.pairs[0].count, 2u);
  EXPECT_EQ(found.pairs[0].predicted, 2u);
  EXPECT_EQ(found.pairs[1].predicted, 0u);  // equal counts by class
  EXPECT_EQ(found.pairs[2].predicted, 1u);
}

}  // namespace
}  // namespace selfnorm
