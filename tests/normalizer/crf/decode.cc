#include "normalizer/crf/decode.h"

#include <gtest/gtest.h>

#include <map>

#include "normalizer/crf/small_crfs.h"

namespace selfnorm {
namespace {

TEST(Viterbi, IsTheBestOfAll) {
  for (const bool own : {false, true}) {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      const auto s = random_scores<float>(2 + seed % 4, 1 + seed % 6, own, seed % 3 == 0 ? 1e4 : 1, seed);
      const Labelling best = viterbi(s.view()), truth = all_labellings(s.view())[0];
      EXPECT_EQ(best.labels, truth.labels);
      EXPECT_EQ(best.score, truth.score);
    }
  }
}

TEST(Viterbi, TiesGoToTheSmallerLabel) {
  const OwnedScores<float> s{17, 20, false, std::vector<float>(340), std::vector<float>(289)};
  EXPECT_EQ(viterbi(s.view()).labels, std::vector<uint32_t>(20, 0));
}

TEST(Viterbi, ScoreIsThatOfItsLabels) {
  for (const uint32_t labels : {2u, 17u, 49u, 300u}) {
    const auto s = random_scores<float>(labels, 40, false, 2, labels);
    const Labelling best = viterbi(s.view());
    EXPECT_EQ(best.score, crf_score<float>(s.view(), best.labels));
    EXPECT_LE(best.score, Lattice().forward(s.view()));
  }
}

TEST(Viterbi, EmptySentence) {
  const OwnedScores<float> s{3, 0, false, {}, std::vector<float>(9)};
  EXPECT_TRUE(viterbi(s.view()).labels.empty());
}

TEST(PosteriorDecoding, IsTheBestMarginalOfEveryPosition) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto s = random_scores<double>(4, 4, seed % 2 == 0, 1, seed);
    BasicLattice<double> lattice;
    lattice.forward(s.view());
    lattice.backward(s.view());
    const Labelling best = posterior_decoding(s.view(), lattice);
    const CrfOracle truth = enumerate(s.view());
    for (uint64_t t = 0; t < 4; ++t) {
      const auto p = std::span(truth.marginal).subspan(t * 4, 4);
      EXPECT_EQ(best.labels[t], std::max_element(p.begin(), p.end()) - p.begin());
    }
    EXPECT_EQ(best.score, crf_score<double>(s.view(), best.labels));
  }
}

// Pearson's chi-square of 20,000 draws over all labellings, cells of less than 5 expected draws joined; the
// seed is fixed, and 5 standard deviations above the mean would fail one right sampler in about 1e5.
void expect_frequencies(const OwnedScores<float>& s) {
  constexpr int kDraws = 20000;
  Lattice lattice;
  const double log_z = lattice.forward(s.view());
  RandomStream random(7);
  std::map<std::vector<uint32_t>, int> seen;
  for (int i = 0; i < kDraws; ++i) ++seen[sample_labelling(s.view(), lattice, random).labels];
  double square = 0, rest = 0, rest_seen = 0;
  int cells = 0;
  for (const Labelling& y : all_labellings(s.view())) {
    const double expected = kDraws * std::exp(y.score - log_z), found = seen[y.labels];
    if (expected < 5) {
      rest += expected;
      rest_seen += found;
      continue;
    }
    square += (found - expected) * (found - expected) / expected;
    ++cells;
  }
  if (rest >= 5) {
    square += (rest_seen - rest) * (rest_seen - rest) / rest;
    ++cells;
  } else {
    EXPECT_LE(rest_seen, 30);
  }
  const double freedom = cells - 1;
  EXPECT_GE(freedom, 1);
  EXPECT_LE(square, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(SampleLabelling, FrequenciesAreTheProbabilities) {
  expect_frequencies(random_scores<float>(3, 4, false, 0.7, 11));
  expect_frequencies(random_scores<float>(3, 4, true, 0.7, 12));
  // log space: label 0 leads nowhere, and is all that floats see of the first position
  expect_frequencies({3,
                      4,
                      false,
                      {0, -100, -100, 0, 0, 0.5f, 0, 0, 0, -300, 0, 0.3f},
                      {0, -400, -400, 0, 0, 0.5f, 0, 0.2f, 0}});
}

TEST(SampleLabelling, ForbiddenTransitionsAreNeverDrawn) {
  const OwnedScores<float> s{2, 6, false, std::vector<float>(12), {0, 0, -1e4f, 0}};
  Lattice lattice;
  lattice.forward(s.view());
  RandomStream random(3);
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(std::ranges::is_sorted(sample_labelling(s.view(), lattice, random).labels));
}

}  // namespace
}  // namespace selfnorm
