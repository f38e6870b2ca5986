#include "normalizer/crf/crf_scores.h"

#include <gtest/gtest.h>

#include <limits>

#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(CrfScores, ScoreIsTheSumOverPositionsAndPairs) {
  const OwnedScores<float> s{2, 3, false, {1, 2, 4, 8, 16, 32}, {100, 200, 400, 800}};
  EXPECT_EQ(crf_score<float>(s.view(), std::vector<uint32_t>{0, 1, 0}), 1 + 200 + 8 + 400 + 16);
  const OwnedScores<float> own{2, 2, true, {1, 2, 4, 8}, {-1, -1, -1, -1, 10, 20, 40, 80}};
  EXPECT_EQ(crf_score<float>(own.view(), std::vector<uint32_t>{1, 0}), 2 + 40 + 4);
}

TEST(CrfScores, LabelsThatDoNotFitAreABug) {
  const auto s = random_scores<float>(2, 3, false, 1, 1);
  EXPECT_THROW(crf_score<float>(s.view(), std::vector<uint32_t>{0, 1}), Bug);
  EXPECT_THROW(crf_score<float>(s.view(), std::vector<uint32_t>{0, 1, 2}), Bug);
}

TEST(CrfScores, SizesAndValuesAreChecked) {
  auto s = random_scores<double>(2, 3, true, 1, 1);
  EXPECT_NO_THROW(check_scores(s.view()));
  s.pair[0] = std::numeric_limits<double>::infinity();  // of position 0: not used
  EXPECT_NO_THROW(check_scores(s.view()));
  s.pair[5] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(check_scores(s.view()), Error);
  s.pair.pop_back();
  EXPECT_THROW(check_scores(s.view()), Bug);
}

}  // namespace
}  // namespace selfnorm
