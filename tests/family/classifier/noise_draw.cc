#include "family/classifier/noise_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "math/random.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

const std::vector<uint64_t> kCounts{50, 30, 15, 4, 1, 0};

ObjectiveOptions options(const std::string& noise, const std::string& sharing, uint64_t samples) {
  ObjectiveOptions out;
  out.name = "snl";
  out.noise = noise;
  out.noise_sharing = sharing;
  out.samples = samples;
  return out;
}

// Five standard deviations of a binomial: a false alarm in a million, and the seed is fixed.
void expect_frequency(double seen, double draws, double p, const std::string& what) {
  EXPECT_NEAR(seen / draws, p, 5 * std::sqrt(p * (1 - p) / draws) + 1e-12) << what;
}

TEST(NoiseDraw, DrawsHaveTheFrequenciesOfTheirLogQ) {
  for (const std::string noise : {"uniform", "unigram", "log-uniform"}) {
    for (const std::string sharing : {"batch", "example"}) {
      NoiseDraw draw(options(noise, sharing, 20), 3, kCounts);
      const std::vector<uint32_t> targets(10, 0);
      std::vector<double> seen(kCounts.size());
      double draws = 0, total = 0;
      for (uint64_t step = 0; step < 400; ++step) {
        draw.draw(step, targets);
        for (const uint32_t k : draw.classes()) ++seen[k];
        draws += static_cast<double>(draw.classes().size());
      }
      EXPECT_EQ(draws, sharing == "batch" ? 8000 : 80000);
      for (uint32_t k = 0; k < kCounts.size(); ++k) {
        expect_frequency(seen[k], draws, std::exp(draw.log_prob(k)), noise + " " + sharing);
        total += std::exp(draw.log_prob(k));
      }
      EXPECT_NEAR(total, 1, 1e-12);
    }
  }
}

TEST(NoiseDraw, LogQIsThatOfEveryDraw) {
  for (const std::string noise : {"uniform", "unigram", "log-uniform", "in-batch"}) {
    NoiseDraw draw(options(noise, "batch", 7), 3, kCounts);
    draw.draw(0, std::vector<uint32_t>{0, 2, 2, 4});
    ASSERT_EQ(draw.log_q().size(), draw.classes().size());
    for (size_t j = 0; j < draw.classes().size(); ++j)
      EXPECT_EQ(draw.log_q()[j], draw.log_prob(draw.classes()[j])) << noise;
  }
}

TEST(NoiseDraw, ViewsOfSharedDrawsAreAllOfThem) {
  NoiseDraw draw(options("unigram", "batch", 7), 3, kCounts);
  draw.draw(0, std::vector<uint32_t>{0, 1, 2});
  EXPECT_TRUE(draw.is_shared());
  EXPECT_EQ(draw.classes().size(), 7u);
  std::vector<double> buffer;
  for (uint64_t i = 0; i < 3; ++i) {
    const NoiseDraw::View view = draw.view(i);
    EXPECT_EQ(view.begin, 0u);
    EXPECT_EQ(view.size(), 7u);
    EXPECT_TRUE(std::ranges::equal(draw.log_q_of(view, buffer), draw.log_q()));
  }
}

TEST(NoiseDraw, ViewsOfOwnDrawsTileThem) {
  NoiseDraw draw(options("unigram", "example", 7), 3, kCounts);
  draw.draw(0, std::vector<uint32_t>{0, 1, 2});
  EXPECT_FALSE(draw.is_shared());
  ASSERT_EQ(draw.classes().size(), 21u);
  std::vector<double> buffer;
  for (uint64_t i = 0; i < 3; ++i) {
    const NoiseDraw::View view = draw.view(i);
    EXPECT_EQ(view.begin, 7 * i);
    EXPECT_EQ(view.end, 7 * i + 7);
    EXPECT_EQ(view.size(), 7u);
    EXPECT_TRUE(std::ranges::equal(draw.log_q_of(view, buffer), draw.log_q().subspan(7 * i, 7)));
  }
}

// The own target is left out by its place; an equal target of another example stays.
TEST(NoiseDraw, InBatchDrawsAreTheOtherTargets) {
  NoiseDraw draw(options("in-batch", "example", 7), 3, kCounts);
  const std::vector<uint32_t> targets{0, 2, 2, 4};
  draw.draw(9, targets);
  EXPECT_TRUE(draw.is_shared());
  EXPECT_TRUE(std::ranges::equal(draw.classes(), targets));
  std::vector<double> buffer;
  for (uint64_t i = 0; i < 4; ++i) {
    const NoiseDraw::View view = draw.view(i);
    EXPECT_EQ(view.hole, i);
    EXPECT_EQ(view.size(), 3u);
    std::vector<double> expected;
    for (uint64_t j = 0; j < 4; ++j) {
      if (j != i) expected.push_back(std::log(static_cast<double>(kCounts[targets[j]]) / 100));
    }
    std::vector<uint8_t> hit_buffer;
    const auto hits = draw.hits_of(view, targets[i], hit_buffer);
    ASSERT_EQ(hits.size(), 3u);
    for (size_t j = 0; j < 3; ++j)
      EXPECT_EQ(hits[j] != 0, (i == 1 || i == 2) && targets[j < i ? j : j + 1] == 2);
    const auto found = draw.log_q_of(view, buffer);
    ASSERT_EQ(found.size(), 3u);
    for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(found[j], expected[j], 1e-14);
  }
}

TEST(NoiseDraw, OneExampleHasNoInBatchNoise) {
  NoiseDraw draw(options("in-batch", "batch", 7), 3, kCounts);
  draw.draw(0, std::vector<uint32_t>{3});
  std::vector<double> buffer{1, 2};
  EXPECT_EQ(draw.view(0).size(), 0u);
  EXPECT_TRUE(draw.log_q_of(draw.view(0), buffer).empty());
}

// All minibatches of three targets, each with its probability: the expected gradient is the closed form of
// two draws from the targets' own distribution p, hits included.
//     snl: exp(s_k - b) - p_k,     nce: (-p_k n_k + n_k m_k) / (m_k + n_k), m_k = exp(s_k - b), n_k = 2 p_k
TEST(NoiseDraw, InBatchNoiseHasTheExpectedGradientOfItsObjective) {
  const std::vector<uint64_t> counts{1, 2, 3, 4};
  const std::vector<double> scores{0.3, -1.2, 0.8, 1.1};
  const double b = 1.2;
  for (const std::string name : {"snl", "nce"}) {
    const auto objective = make_candidate_objective(name);
    NoiseDraw draw(options("in-batch", "batch", 1), 3, counts);
    std::vector<double> gradient(4), log_q;
    std::vector<uint8_t> hit;
    for (uint32_t code = 0; code < 64; ++code) {
      const std::vector<uint32_t> targets{code % 4, code / 4 % 4, code / 16};
      double probability = 1;
      for (const uint32_t y : targets) probability *= static_cast<double>(counts[y]) / 10;
      draw.draw(0, targets);
      for (uint64_t i = 0; i < 3; ++i) {
        const NoiseDraw::View view = draw.view(i);
        std::vector<uint32_t> others;
        std::vector<double> score, d(2);
        for (size_t j = view.begin; j < view.end; ++j) {
          if (j == view.hole) continue;
          others.push_back(draw.classes()[j]);
          score.push_back(scores[others.back()]);
        }
        const CandidateTerms t = (*objective)({.score = scores[targets[i]],
                                               .log_q = draw.log_prob(targets[i]),
                                               .sample_score = score,
                                               .sample_log_q = draw.log_q_of(view, log_q),
                                               .sample_hit = draw.hits_of(view, targets[i], hit),
                                               .log_normalizer = b},
                                              d);
        gradient[targets[i]] += probability / 3 * t.d_score;
        for (size_t j = 0; j < 2; ++j) gradient[others[j]] += probability / 3 * d[j];
      }
    }
    for (uint32_t k = 0; k < 4; ++k) {
      const double p = static_cast<double>(counts[k]) / 10, m = std::exp(scores[k] - b), n = 2 * p;
      EXPECT_NEAR(gradient[k], name == "snl" ? m - p : n * (m - p) / (m + n), 1e-12) << name << " " << k;
    }
  }
}

TEST(NoiseDraw, AStepHasItsOwnStream) {
  NoiseDraw one(options("unigram", "batch", 50), 3, kCounts),
      two(options("unigram", "batch", 50), 3, kCounts);
  const std::vector<uint32_t> targets{0};
  for (uint64_t step = 0; step < 5; ++step) one.draw(step, targets);
  two.draw(4, targets);
  EXPECT_TRUE(std::ranges::equal(one.classes(), two.classes()));
  two.draw(3, targets);
  EXPECT_FALSE(std::ranges::equal(one.classes(), two.classes()));
}

// Minibatches of targets drawn from the counts, with their noise: how many of them use the class.
TEST(NoiseDraw, UseProbabilityIsTheShareOfMinibatches) {
  const int batches = 20000;
  for (const std::string noise : {"uniform", "unigram", "in-batch"}) {
    for (const std::string sharing : {"batch", "example"}) {
      NoiseDraw draw(options(noise, sharing, 3), 3, kCounts);
      std::vector<double> seen(kCounts.size());
      RandomStream random(5);
      for (int step = 0; step < batches; ++step) {
        std::vector<uint32_t> targets;
        for (int i = 0; i < 4; ++i) {
          uint64_t place = random.below(100);
          uint32_t y = 0;
          while (place >= kCounts[y]) place -= kCounts[y++];
          targets.push_back(y);
        }
        draw.draw(static_cast<uint64_t>(step), targets);
        std::set<uint32_t> used(targets.begin(), targets.end());
        used.insert(draw.classes().begin(), draw.classes().end());
        for (const uint32_t k : used) ++seen[k];
      }
      for (uint32_t k = 0; k < kCounts.size(); ++k)
        expect_frequency(seen[k], batches, draw.use_probability(k, 4), noise + " " + sharing);
    }
  }
}

}  // namespace
}  // namespace selfnorm
