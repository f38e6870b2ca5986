#include "normalizer/crf/crf_pass.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "math/parallel.h"
#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct Visited {
  double score, log_z;
};

template <class Real>
std::map<uint64_t, Visited> visit_all(const ExactPass<Real>& pass, std::span<const Real> theta,
                                      uint64_t normalised, std::span<Real> gradient) {
  std::map<uint64_t, Visited> seen;
  std::mutex mutex;
  pass.run(
      theta, normalised,
      [&](uint64_t i, double score, double log_z) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(seen.emplace(i, Visited{score, log_z}).second);
        return ScoreDerivatives{i % 3 == 0 ? -1.0 : 0.5,
                                i < normalised ? 0.25 + static_cast<double>(i % 2) : 0};
      },
      gradient);
  return seen;
}

TEST(CrfPass, ScoresNormalizersAndExpectedCountsAgreeWithEnumeration) {
  for (const SmallSequences& kind : small_kinds()) {
    const Sequences data = kind.make(3);
    const CrfShape shape = kind.shape();
    const auto theta = random_vector<double>(shape.size(), 0.7, 4);
    const auto pass = make_crf_pass<double>(data, shape);
    ASSERT_EQ(pass->examples(), data.sentences());
    std::vector<double> gradient(shape.size(), 1);
    const uint64_t normalised = data.sentences() - 3;
    const auto seen = visit_all<double>(*pass, theta, normalised, gradient);
    ASSERT_EQ(seen.size(), data.sentences());
    // sum_i ds_i s_i + dA_i A_i, whose gradient it is
    const auto value = [&](const std::vector<double>& at) {
      double sum = 0;
      BasicCrfScorer<double> scorer(shape, at);
      for (uint64_t i = 0; i < data.sentences(); ++i) {
        sum += (i % 3 == 0 ? -1.0 : 0.5) * scorer.target_score(data, i);
        if (i < normalised) sum += (0.25 + static_cast<double>(i % 2)) * enumerate(scorer(data, i)).log_z;
      }
      return sum;
    };
    BasicCrfScorer<double> scorer(shape, theta);
    for (const auto& [i, v] : seen) {
      EXPECT_NEAR(v.score, scorer.target_score(data, i), 1e-12);
      if (i < normalised)
        EXPECT_NEAR(v.log_z, enumerate(scorer(data, i)).log_z, 1e-11);
      else
        EXPECT_TRUE(std::isnan(v.log_z));
    }
    for (size_t p = 0; p < theta.size(); p += 3) {
      auto at = theta;
      at[p] += 1e-5;
      const double above = value(at);
      at[p] -= 2e-5;
      EXPECT_NEAR(gradient[p] - 1, (above - value(at)) / 2e-5, 1e-7) << p;
    }
  }
}

TEST(CrfPass, SameBitsForAnyNumberOfThreads) {
  SmallSequences kind{.labels = 17, .unigrams = 40, .sentences = 700, .longest = 12};
  for (const uint32_t bigrams : {0u, 2u}) {
    kind.bigrams = bigrams;
    const Sequences data = kind.make(5);
    const auto pass = make_crf_pass<float>(data, kind.shape());
    const auto theta = random_vector<float>(kind.shape().size(), 0.5, 6);
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      const ThreadLimit limit(threads);
      std::vector<float> gradient(theta.size());
      visit_all<float>(*pass, theta, 600, gradient);
      if (threads == 1) first = gradient;
      EXPECT_EQ(gradient, first);
    }
  }
}

// Long rows of uses, many granules, and for the second kind more derivatives than one block may have.
TEST(CrfPass, ShardsAddUpToTheWhole) {
  for (const SmallSequences& kind :
       {SmallSequences{.labels = 3, .unigrams = 5, .sentences = 1500, .longest = 8},
        SmallSequences{.labels = 17, .unigrams = 3, .bigrams = 1, .sentences = 2000, .longest = 32}}) {
    const Sequences data = kind.make(7);
    const auto theta = random_vector<double>(kind.shape().size(), 1, 8);
    const auto run = [&](const Sequences& part, std::vector<double>& gradient) {
      std::vector<double> loss(part.sentences());
      make_crf_pass<double>(part, kind.shape())
          ->run(
              theta, part.sentences(),
              [&](uint64_t i, double score, double log_z) {
                loss[i] = log_z - score;
                return ScoreDerivatives{-1, 1};
              },
              gradient);
      return std::accumulate(loss.begin(), loss.end(), 0.0);
    };
    std::vector<double> whole(theta.size()), parts(theta.size()), none;
    const double value = run(data, whole);
    double sum = 0;
    const uint64_t n = data.sentences();
    for (const auto& [begin, end] :
         std::vector<std::pair<uint64_t, uint64_t>>{{0, 1}, {1, 1}, {1, 65}, {65, 900}, {900, n}})
      sum += run(shard(data, begin, end), parts);
    EXPECT_NEAR(sum, value, 1e-9 * value);
    EXPECT_NEAR(run(data, none), value, 1e-9 * value);
    for (size_t p = 0; p < theta.size(); ++p) EXPECT_NEAR(parts[p], whole[p], 1e-8);
  }
}

TEST(CrfPass, FloatAgreesWithDouble) {
  const SmallSequences kind{.labels = 17, .unigrams = 30, .sentences = 300, .longest = 30};
  const Sequences data = kind.make(9);
  const auto theta = random_vector<float>(kind.shape().size(), 0.5, 8);
  const std::vector<double> exact_theta(theta.begin(), theta.end());
  std::vector<float> gradient(theta.size());
  std::vector<double> exact(theta.size());
  const auto seen = visit_all<float>(*make_crf_pass<float>(data, kind.shape()), theta, 300, gradient);
  const auto truth = visit_all<double>(*make_crf_pass<double>(data, kind.shape()), exact_theta, 300, exact);
  for (const auto& [i, v] : truth) EXPECT_NEAR(seen.at(i).log_z, v.log_z, 1e-5 * (1 + std::abs(v.log_z)));
  for (size_t p = 0; p < theta.size(); ++p)
    EXPECT_NEAR(static_cast<double>(gradient[p]), exact[p], 1e-4 * (1 + std::abs(exact[p])));
}

TEST(CrfPass, SummariesAgreeWithEnumeration) {
  const SmallSequences kind{.labels = 3, .bigrams = 1, .sentences = 70};
  const Sequences data = kind.make(10);
  const auto theta = random_vector<double>(kind.shape().size(), 1, 11);
  std::vector<OutputSummary> rows(data.sentences());
  make_crf_pass<double>(data, kind.shape())->summarise(theta, [&](uint64_t i, const OutputSummary& row) {
    rows[i] = row;
  });
  BasicCrfScorer<double> scorer(kind.shape(), theta);
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const auto scores = scorer(data, i);
    const auto all = all_labellings(scores);
    const CrfOracle truth = enumerate(scores);
    EXPECT_EQ(rows[i].outputs, all.size());
    EXPECT_NEAR(rows[i].log_z, truth.log_z, 1e-11);
    EXPECT_NEAR(rows[i].log_prob, rows[i].score - truth.log_z, 1e-11);
    EXPECT_NEAR(rows[i].entropy, truth.entropy, 1e-10);
    uint64_t better = 0;
    for (const Labelling& y : all) better += y.score > rows[i].score ? 1 : 0;
    EXPECT_EQ(rows[i].better, std::min(better, kBetter));
  }
}

TEST(CrfPass, NumbersOfLabellingsStopAtTheLargest) {
  Sequences data;
  for (int t = 0; t < 100; ++t) {
    data.unigram.begin.push_back(0);
    data.label.push_back(0);
  }
  data.sentence_begin.push_back(100);
  make_crf_pass<float>(data, {2, 0, 0, true})
      ->summarise(std::vector<float>(6), [](uint64_t, const OutputSummary& row) {
        EXPECT_EQ(row.outputs, UINT64_MAX);
        EXPECT_NEAR(row.log_z, 100 * std::log(2.0), 1e-4);
      });
}

TEST(CrfPass, MissingLabelsAndInfiniteParameters) {
  SmallSequences kind;
  Sequences data = kind.make(1);
  auto theta = random_vector<float>(kind.shape().size(), 1, 1);
  theta.back() = std::numeric_limits<float>::infinity();
  std::vector<float> gradient(theta.size());
  const auto seen = visit_all<float>(*make_crf_pass<float>(data, kind.shape()), theta, 10, gradient);
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const auto& v) {
    return std::isnan(v.second.score) && std::isnan(v.second.log_z);  // training sees that it diverged
  }));
  data.label.back() = kNoLabel;
  EXPECT_THROW(make_crf_pass<float>(data, kind.shape()), Bug);
}

}  // namespace
}  // namespace selfnorm
