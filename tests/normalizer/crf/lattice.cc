#include "normalizer/crf/lattice.h"

#include <gtest/gtest.h>

#include <limits>

#include "math/kernels.h"
#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

template <class Real>
void expect_enumeration(const OwnedScores<Real>& s, double tolerance) {
  const auto scores = s.view();
  const CrfOracle truth = enumerate(scores);
  BasicLattice<Real> lattice;
  EXPECT_NEAR(lattice.forward(scores), truth.log_z, tolerance * std::max(1.0, std::abs(truth.log_z)));
  lattice.backward(scores);
  for (size_t i = 0; i < truth.marginal.size(); ++i)
    EXPECT_NEAR(static_cast<double>(lattice.marginals()[i]), truth.marginal[i], tolerance) << i;
  std::vector<double> pair(s.pair.size(), 1);
  lattice.add_pairs(scores, 2, pair);
  for (size_t i = 0; i < pair.size(); ++i) EXPECT_NEAR(pair[i], 1 + 2 * truth.pair[i], 10 * tolerance) << i;
  EXPECT_NEAR(lattice.entropy(scores), truth.entropy, 30 * tolerance * std::max(1.0, truth.entropy));
}

TEST(Lattice, AgreesWithEnumeration) {
  for (const bool own : {false, true}) {
    for (const auto& [labels, length] : std::vector<std::pair<uint32_t, uint64_t>>{
             {1, 1}, {1, 4}, {2, 1}, {2, 9}, {3, 6}, {5, 4}, {17, 2}, {17, 3}, {49, 2}, {300, 1}}) {
      SCOPED_TRACE(testing::Message() << own << " " << labels << " x " << length);
      expect_enumeration(random_scores<float>(labels, length, own, 1.5, labels), 2e-6);
      expect_enumeration(random_scores<double>(labels, length, own, 1.5, labels), 1e-12);
    }
  }
}

// With every label near it is the sum over all labellings.
TEST(Lattice, NearestLabelsAreAllLabelsWhereNoneIsFar) {
  for (const auto& [labels, length] :
       std::vector<std::pair<uint32_t, uint64_t>>{{1, 3}, {3, 6}, {17, 3}, {49, 2}, {300, 1}}) {
    const auto s = random_scores<float>(labels, length, false, 1.5, labels);
    PairFactors<float> pairs;
    pairs.assign(s.pair.data(), labels);
    const LabelTail<float> tail(pairs, std::vector<double>(labels, 1.0 / labels), 0);
    Lattice lattice;
    const double truth = enumerate(s.view()).log_z;
    EXPECT_NEAR(lattice.forward_nearest(s.view(), pairs, tail), truth, 1e-5 * std::max(1.0, std::abs(truth)));
    EXPECT_EQ(lattice.near_labels(), labels * (length - 1));
  }
}

// By its definition: alpha with the far labels together, in double, and counted.
TEST(Lattice, FarLabelsGoByTheirShares) {
  const uint32_t labels = 40;
  const uint64_t length = 7;
  for (const double stop : {0.002, 0.02, 0.2}) {
    const auto s = random_scores<double>(labels, length, false, 2, 5);
    PairFactors<double> pairs;
    pairs.assign(s.pair.data(), labels);
    std::vector<double> share = random_vector<double>(labels, 1, 3);
    double sum = 0;
    for (double& w : share) sum += w = std::abs(w);
    for (double& w : share) w /= sum;
    std::vector<double> alpha(labels), next(labels);
    for (uint32_t k = 0; k < labels; ++k) alpha[k] = std::exp(s.unary[k]);
    double log_z = 0;
    uint64_t near = 0;
    for (uint64_t t = 0; t < length; ++t) {
      double total = 0;
      for (const double a : alpha) total += a;
      log_z += std::log(total);
      for (double& a : alpha) a /= total;
      if (t + 1 == length) break;
      double far = 0;
      for (uint32_t j = 0; j < labels; ++j) {
        near += alpha[j] < stop ? 0 : 1;
        far += alpha[j] < stop ? alpha[j] : 0;
      }
      for (uint32_t k = 0; k < labels; ++k) {
        next[k] = 0;
        for (uint32_t j = 0; j < labels; ++j)
          next[k] += ((alpha[j] < stop ? 0 : alpha[j]) + far * share[j]) * std::exp(s.pair[j * labels + k]);
        next[k] *= std::exp(s.unary[(t + 1) * labels + k]);
      }
      alpha = next;
    }
    BasicLattice<double> lattice;
    EXPECT_NEAR(lattice.forward_nearest(s.view(), pairs, {pairs, share, stop}), log_z, 1e-9) << stop;
    EXPECT_EQ(lattice.near_labels(), near);
    EXPECT_LT(near, labels * (length - 1)) << stop;
  }
}

// Where numbers vanish the sum is exact.
TEST(Lattice, NearestLabelsThatVanishAreSummed) {
  OwnedScores<float> s{2, 2, false, {0, -1000, -1000, 0}, {0, -1000, 0, 0}};
  PairFactors<float> pairs;
  pairs.assign(s.pair.data(), 2);
  Lattice lattice;
  EXPECT_NEAR(lattice.forward_nearest(s.view(), pairs, {pairs, std::vector<double>{0, 1}, 0.5}),
              enumerate(s.view()).log_z, 1e-3);
  EXPECT_TRUE(lattice.is_in_log_space());
}

TEST(Lattice, VeryLargeScoresAndForbiddenTransitions) {
  for (const bool own : {false, true}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << own << " seed " << seed);
      auto s = random_scores<float>(3, 5, own, 1, seed);
      RandomStream random(seed, 1);
      for (float& u : s.unary) u += random.uniform() < 0.3 ? 1e4f : 0;
      for (float& v : s.pair) v -= random.uniform() < 0.5 ? 1e4f : 0;
      expect_enumeration(s, 3e-6);
      auto d = random_scores<double>(3, 5, own, 300, seed);
      expect_enumeration(d, 1e-11);
    }
  }
}

// Label 1 is 100 below label 0 at every position but can follow itself alone; label 0 must become 1 at the
// end: prefixes that vanish in float are all there is.
TEST(Lattice, PrefixesThatVanishInFloatAreNotLost) {
  OwnedScores<float> s{2, 4, false, {0, -100, 0, 0, 0, 0, -300, 0}, {0, -400, 0, 0}};
  expect_enumeration(s, 1e-6);
  Lattice lattice;
  lattice.forward(s.view());
  EXPECT_TRUE(lattice.is_in_log_space());
  s.unary = {0, -100, 0, 0, 0, 0, 0, 0};  // as small, but nothing depends on it
  expect_enumeration(s, 1e-6);
  lattice.forward(s.view());
  EXPECT_FALSE(lattice.is_in_log_space());
}

TEST(Lattice, EveryPairForbiddenIsComputedInLogSpace) {
  // u prefers 0 then 1, v forbids 0 -> 1 and allows 1 -> 0, both by 1e4
  const OwnedScores<float> s{2, 2, false, {1e4f, 0, 0, 1e4f}, {-1e4f, -2e4f, 0, -1e4f}};
  expect_enumeration(s, 1e-6);
}

// a_t(k) = u_t(k) + log sum_j exp(a_{t-1}(j) + v(j,k)) in double, written with the streaming log-sum-exp.
double log_space_oracle(const CrfScores& s) {
  std::vector<double> a(s.unary.begin(), s.unary.begin() + s.labels), next(s.labels);
  for (uint64_t t = 1; t < s.length; ++t) {
    for (uint32_t k = 0; k < s.labels; ++k) {
      LogSumExp sum;
      for (uint32_t j = 0; j < s.labels; ++j)
        sum.add(a[j] + static_cast<double>(s.pair_at(t)[j * s.labels + k]));
      next[k] = sum.value() + static_cast<double>(s.unary_at(t)[k]);
    }
    a.swap(next);
  }
  LogSumExp sum;
  for (const double x : a) sum.add(x);
  return sum.value();
}

TEST(Lattice, TenThousandTokensDoNotUnderflow) {
  for (const uint32_t labels : {2u, 17u}) {
    for (const double spread : {0.5, 8.0}) {
      const auto s = random_scores<float>(labels, 10000, false, spread, 5);
      const double truth = log_space_oracle(s.view());
      Lattice lattice;
      EXPECT_NEAR(lattice.forward(s.view()), truth, 1e-7 * std::abs(truth) + 1e-3);
      lattice.backward(s.view());
      for (uint64_t t = 0; t < s.length; t += 97) {
        const auto p = lattice.marginals().subspan(t * labels, labels);
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-5);
      }
      std::vector<double> pair(labels * labels);
      lattice.add_pairs(s.view(), 1, pair);
      EXPECT_NEAR(std::accumulate(pair.begin(), pair.end(), 0.0), 9999, 0.05);
    }
  }
}

TEST(Lattice, ManyLabelsAgreeWithLogSpace) {
  for (const uint32_t labels : {17u, 49u, 300u}) {
    const auto s = random_scores<float>(labels, 12, false, 2, labels);
    const double truth = log_space_oracle(s.view());
    EXPECT_NEAR(Lattice().forward(s.view()), truth, 1e-6 * std::abs(truth));
  }
}

// u_t(k) + b_t: A moves by sum_t b_t and p stays.
TEST(Lattice, ShiftOfAPositionMovesTheNormalizerAlone) {
  auto s = random_scores<double>(4, 6, false, 1, 3);
  BasicLattice<double> lattice;
  const double before = lattice.forward(s.view());
  lattice.backward(s.view());
  const std::vector<double> p(lattice.marginals().begin(), lattice.marginals().end());
  for (size_t i = 0; i < s.unary.size(); ++i) s.unary[i] += static_cast<double>(i / 4) - 1.5;
  EXPECT_NEAR(lattice.forward(s.view()), before + 15 - 9, 1e-12);
  lattice.backward(s.view());
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(lattice.marginals()[i], p[i], 1e-13);
}

TEST(Lattice, EqualScoresHaveClosedForms) {
  const OwnedScores<double> s{17, 30, false, std::vector<double>(17 * 30, 0.25),
                              std::vector<double>(289, -1)};
  BasicLattice<double> lattice;
  EXPECT_NEAR(lattice.forward(s.view()), 30 * (std::log(17.0) + 0.25) - 29, 1e-11);
  lattice.backward(s.view());
  EXPECT_NEAR(lattice.entropy(s.view()), 30 * std::log(17.0), 1e-11);
  EXPECT_NEAR(lattice.marginals()[100], 1.0 / 17, 1e-14);
}

TEST(Lattice, NoPositionsHaveOneEmptyLabelling) {
  const OwnedScores<float> s{3, 0, false, {}, std::vector<float>(9)};
  Lattice lattice;
  EXPECT_EQ(lattice.forward(s.view()), 0);
  lattice.backward(s.view());
  EXPECT_TRUE(lattice.marginals().empty());
  EXPECT_EQ(lattice.entropy(s.view()), 0);
}

TEST(Lattice, ScoresThatAreNotFiniteAreRefused) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (const bool own : {false, true}) {
      auto s = random_scores<float>(17, 3, own, 1, 1);
      s.unary[17 + 16] = bad;
      EXPECT_THROW(Lattice().forward(s.view()), Error);
      s = random_scores<float>(17, 3, own, 1, 1);
      s.pair.back() = bad;
      EXPECT_THROW(Lattice().forward(s.view()), Error);
    }
  }
  auto s = random_scores<float>(3, 2, false, 1, 1);
  s.unary[4] = -std::numeric_limits<float>::infinity();
  try {
    Lattice().forward(s.view());
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("unary score 1 of position 2 is -inf"), std::string::npos)
        << e.what();
  }
}

TEST(Lattice, RoomIsKeptBetweenSentencesOfAnySize) {
  Lattice lattice;
  for (const uint64_t length : {5u, 1u, 3u, 0u, 5u}) {
    const auto s = random_scores<float>(3, length, length == 3, 1, length);
    const double log_z = lattice.forward(s.view());
    lattice.backward(s.view());
    Lattice fresh;
    EXPECT_EQ(log_z, fresh.forward(s.view()));
    fresh.backward(s.view());
    EXPECT_TRUE(std::ranges::equal(lattice.marginals(), fresh.marginals()));
  }
}

// Scores of any size: their sums swallow log Z, and differences at each position do not.
TEST(Lattice, LogProbabilitiesSumToOne) {
  for (const bool own : {false, true}) {
    for (const double size : {1.0, 1e2, 1e4, 1e8, 1e15, 1e30}) {
      for (uint64_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(testing::Message() << own << " size " << size << " seed " << seed);
        const auto s = random_scores<float>(3, 5, own, size, seed);
        Lattice lattice;
        const double log_z = lattice.forward(s.view());
        double sum = 0;
        for (const Labelling& y : all_labellings(s.view())) {
          const double log_prob = lattice.log_prob(s.view(), y.labels);
          EXPECT_LE(log_prob, 0);
          EXPECT_NEAR(log_prob, y.score - log_z, 1e-5 * (1 + std::abs(y.score)) + 1e-12 * size);
          sum += std::exp(log_prob);
        }
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace selfnorm
