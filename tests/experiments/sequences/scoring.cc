#include "experiments/sequences/scoring.h"

#include <gtest/gtest.h>

#include <cmath>

#include "normalizer/crf/crf_scorer.h"

namespace selfnorm {
namespace {

const RandomCrfOptions kSmall = {.labels = 3, .length = 4, .tokens = 10, .attributes = 40, .at_token = 5};

TEST(RandomCrf, HasTheSizesAskedFor) {
  const RandomCrf crf = random_crf(kSmall);
  EXPECT_EQ(crf.data.sentences(), 3u);  // the tokens asked for, or a part of a sentence more
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(crf.data.length(i), 4u);
  EXPECT_EQ(crf.theta.size(), crf.shape.size());
  for (uint64_t t = 0; t < crf.data.positions(); ++t) {
    const auto attributes = crf.data.unigram.attributes(t);
    ASSERT_EQ(attributes.size(), 5u);
    for (size_t a = 1; a < 5; ++a) EXPECT_LT(attributes[a - 1], attributes[a]);
    EXPECT_LT(attributes[4], 40u);
    EXPECT_LT(crf.data.label[t], 3u);
  }
}

TEST(RandomCrf, IsThatOfItsSeed) {
  RandomCrfOptions other = kSmall;
  other.seed = 2;
  EXPECT_EQ(random_crf(kSmall).theta, random_crf(kSmall).theta);
  EXPECT_NE(random_crf(kSmall).theta, random_crf(other).theta);
  EXPECT_NE(random_crf(kSmall).data.label, random_crf(other).data.label);
}

// s - A with A summed over all 3^4 labellings of each sentence.
TEST(ScoringTimes, AreOfTheRawAndTheExactLogProbability) {
  RandomCrf crf = random_crf(kSmall);
  const ScoringTimes times = scoring_times(crf, 3);
  double raw = 0, exact = 0;
  for (uint64_t i = 0; i < crf.data.sentences(); ++i) {
    const CrfScorer scorer(crf.shape, crf.theta);
    const double score = scorer.target_score(crf.data, i);
    Sequences other = crf.data;
    double z = 0;
    for (uint32_t code = 0; code < 81; ++code) {
      uint32_t rest = code;
      for (uint64_t t = other.sentence_begin[i]; t < other.sentence_begin[i + 1]; ++t, rest /= 3)
        other.label[t] = rest % 3;
      z += std::exp(scorer.target_score(other, i));
    }
    raw += score;
    exact += score - std::log(z);
  }
  EXPECT_NEAR(times.raw_sum, raw, 1e-5);
  EXPECT_NEAR(times.exact_sum, exact, 1e-4);
  EXPECT_LT(times.exact_sum, 0);
}

TEST(ScoringTimes, DoNotDependOnTheRepeatsInWhatIsScored) {
  const RandomCrf crf = random_crf(kSmall);
  EXPECT_EQ(scoring_times(crf, 1).exact_sum, scoring_times(crf, 4).exact_sum);
  EXPECT_GT(scoring_times(crf, 1).raw, 0);
}

}  // namespace
}  // namespace selfnorm
