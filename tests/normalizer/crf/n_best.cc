#include <gtest/gtest.h>

#include <set>

#include "normalizer/crf/decode.h"
#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(NBest, AllLabellingsInOrder) {
  for (const bool own : {false, true}) {
    for (const auto& [labels, length] :
         std::vector<std::pair<uint32_t, uint64_t>>{{1, 3}, {2, 1}, {2, 7}, {3, 5}, {5, 3}, {17, 2}}) {
      const auto s = random_scores<float>(labels, length, own, 1, labels + length);
      const auto truth = all_labellings(s.view());
      const auto best = n_best(s.view(), truth.size() + 10);
      ASSERT_EQ(best.size(), truth.size());
      for (size_t i = 0; i < best.size(); ++i) {
        EXPECT_EQ(best[i].labels, truth[i].labels) << i;
        EXPECT_EQ(best[i].score, truth[i].score) << i;
      }
    }
  }
}

TEST(NBest, TiesAreEachGivenOnceInAFixedOrder) {
  auto s = random_scores<float>(3, 5, false, 1, 1);
  for (float& u : s.unary) u = std::round(u);
  for (float& v : s.pair) v = std::round(v);
  const auto truth = all_labellings(s.view());
  const auto best = n_best(s.view(), truth.size());
  ASSERT_EQ(best.size(), truth.size());
  std::set<std::vector<uint32_t>> seen;
  for (size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].score, truth[i].score) << i;
    EXPECT_EQ(best[i].score, crf_score<float>(s.view(), best[i].labels)) << i;
    seen.insert(best[i].labels);
  }
  EXPECT_EQ(seen.size(), best.size());
  const auto few = n_best(s.view(), 7);
  ASSERT_EQ(few.size(), 7u);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].labels, best[i].labels);
}

TEST(NBest, LongSentencesAndTheBestIsViterbis) {
  const auto s = random_scores<float>(17, 3000, false, 1, 9);
  const auto best = n_best(s.view(), 50);
  ASSERT_EQ(best.size(), 50u);
  EXPECT_EQ(best[0].labels, viterbi(s.view()).labels);
  for (size_t i = 1; i < best.size(); ++i) {
    EXPECT_GE(best[i - 1].score, best[i].score);
    EXPECT_EQ(best[i].score, crf_score<float>(s.view(), best[i].labels));
  }
}

TEST(NBest, NoneAndTheEmptySentence) {
  EXPECT_TRUE(n_best(random_scores<float>(3, 2, false, 1, 1).view(), 0).empty());
  const OwnedScores<float> empty{3, 0, false, {}, std::vector<float>(9)};
  ASSERT_EQ(n_best(empty.view(), 5).size(), 1u);
  EXPECT_TRUE(n_best(empty.view(), 5)[0].labels.empty());
  auto s = random_scores<float>(3, 2, false, 1, 1);
  s.unary[0] = std::nanf("");
  EXPECT_THROW(n_best(s.view(), 2), Error);
}

}  // namespace
}  // namespace selfnorm
