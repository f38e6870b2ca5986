// Oracles for small K: expectations by enumeration of all noise draws (y_1 .. y_k) in {0 .. K-1}^k and of the
// target, each with its probability.
#include "objective/candidate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "objective/registry.h"
#include "objective/snl.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint32_t kClasses = 4;
const std::vector<double> kNoise{0.4, 0.3, 0.2, 0.1};    // q
const std::vector<double> kTruth{0.1, 0.2, 0.3, 0.4};    // distribution of the target
const std::vector<double> kScores{0.3, -1.2, 0.8, 2.1};  // of some model
constexpr double kNormalizer = 1.7;                      // b, away from log Z

double log_z(const std::vector<double>& scores) {
  LogSumExp z;
  for (const double s : scores) z.add(s);
  return z.value();
}

// Expected loss and its gradient by class and by b, over all draws of `samples` noise classes and the target.
struct Expected {
  double loss = 0;
  std::vector<double> d_class = std::vector<double>(kClasses);
  double d_log_normalizer = 0;
};

struct Setting {
  std::string objective;
  int samples = 2;
  std::vector<double> scores = kScores;
  double log_normalizer = kNormalizer;
  std::vector<double> target = kTruth;
  bool knows_hits = false;
};

Expected expected(const Setting& setting) {
  const auto objective = make_candidate_objective(setting.objective);
  Expected sum;
  std::vector<uint32_t> draw;
  std::function<void(double)> extend = [&](double probability) {
    if (static_cast<int>(draw.size()) < setting.samples) {
      for (uint32_t k = 0; k < kClasses; ++k) {
        draw.push_back(k);
        extend(probability * kNoise[k]);
        draw.pop_back();
      }
      return;
    }
    std::vector<double> score, log_q, d_sample(draw.size());
    for (const uint32_t k : draw) {
      score.push_back(setting.scores[k]);
      log_q.push_back(std::log(kNoise[k]));
    }
    for (uint32_t y = 0; y < kClasses; ++y) {
      const double p = probability * setting.target[y];
      std::vector<uint8_t> hit;
      for (const uint32_t k : draw) hit.push_back(k == y ? 1 : 0);
      if (!setting.knows_hits) hit.clear();
      const CandidateTerms t = (*objective)({.score = setting.scores[y],
                                             .log_q = std::log(kNoise[y]),
                                             .sample_score = score,
                                             .sample_log_q = log_q,
                                             .sample_hit = hit,
                                             .log_normalizer = setting.log_normalizer},
                                            d_sample);
      sum.loss += p * t.likelihood;
      sum.d_class[y] += p * t.d_score;
      for (size_t j = 0; j < draw.size(); ++j) sum.d_class[draw[j]] += p * d_sample[j];
      sum.d_log_normalizer += p * t.d_log_normalizer;
    }
  };
  extend(1);
  return sum;
}

double exact_loss(const std::vector<double>& scores) {
  double loss = log_z(scores);
  for (uint32_t y = 0; y < kClasses; ++y) loss -= kTruth[y] * scores[y];
  return loss;
}

std::vector<double> logs(const std::vector<double>& p, double shift) {
  std::vector<double> out;
  for (const double v : p) out.push_back(std::log(v) + shift);
  return out;
}

// E loss = b - E s + exp(A - b) - 1 for any b and any number of samples: Z_hat is unbiased and linear in it.
TEST(Candidate, SnlIsUnbiasedForAnyNormalizer) {
  const double a = log_z(kScores);
  for (const bool knows_hits : {false, true}) {
    for (const int samples : {1, 2, 3}) {
      for (const double b : {-2.0, 0.0, a, 5.0}) {
        const Expected e =
            expected({.objective = "snl", .samples = samples, .log_normalizer = b, .knows_hits = knows_hits});
        EXPECT_NEAR(e.loss, exact_loss(kScores) - a + b + std::exp(a - b) - 1, 1e-10);
        EXPECT_NEAR(e.d_log_normalizer, 1 - std::exp(a - b), 1e-10);
        for (uint32_t k = 0; k < kClasses; ++k)
          EXPECT_NEAR(e.d_class[k], std::exp(kScores[k] - b) - kTruth[k], 1e-10);
      }
    }
  }
}

TEST(Candidate, SnlIsALowerBoundOfTheLikelihoodAndTightAtLogZ) {
  const double a = log_z(kScores);
  for (const double b : {-3.0, -0.1, 0.5, 1.0, 2.0, 4.0, 30.0}) {
    EXPECT_GT(expected({.objective = "snl", .log_normalizer = b}).loss, exact_loss(kScores) + 1e-9) << b;
  }
  const Expected tight = expected({.objective = "snl", .log_normalizer = a});
  EXPECT_NEAR(tight.loss, exact_loss(kScores), 1e-12);
  // There the gradient is that of the log-likelihood.
  for (uint32_t k = 0; k < kClasses; ++k)
    EXPECT_NEAR(tight.d_class[k], std::exp(kScores[k] - a) - kTruth[k], 1e-12);
}

// d/ds_k = -p_k sigma(-D_k) + k q_k sigma(D_k), by linearity of the expectation.
TEST(Candidate, NceExpectedGradientIsTheClosedForm) {
  for (const int samples : {1, 2, 3}) {
    const Expected e = expected({.objective = "nce", .samples = samples});
    double d_b = 0;
    for (uint32_t k = 0; k < kClasses; ++k) {
      const double noise = samples * kNoise[k], model = std::exp(kScores[k] - kNormalizer);
      const double d = (-kTruth[k] * noise + noise * model) / (model + noise);
      EXPECT_NEAR(e.d_class[k], d, 1e-12);
      d_b -= d;
    }
    EXPECT_NEAR(e.d_log_normalizer, d_b, 1e-12);
  }
}

// One sample: share = 1, so d/ds_k = q_k - p_k. Jensen: the loss is below the exact one, less with more
// samples.
TEST(Candidate, ImportanceSamplingIsBiasedByJensenAndConsistent) {
  const Expected one = expected({.objective = "is", .samples = 1});
  for (uint32_t k = 0; k < kClasses; ++k) EXPECT_NEAR(one.d_class[k], kNoise[k] - kTruth[k], 1e-12);
  double bias = 1e9;
  for (const int samples : {1, 2, 4, 6}) {
    const double now = exact_loss(kScores) - expected({.objective = "is", .samples = samples}).loss;
    EXPECT_GT(now, 0);
    EXPECT_LT(now, bias);
    bias = now;
    // With the target's term known the bias is smaller still.
    const Setting known{.objective = "is", .samples = samples, .knows_hits = true};
    const double less = exact_loss(kScores) - expected(known).loss;
    EXPECT_GT(less, 0);
    EXPECT_LT(less, now);
  }
}

// One sample: the target y against y' has d/ds_y = -p, p = a' / (a + a'), a = exp(s) / q.
TEST(Candidate, RankingNceExpectedGradientIsTheClosedForm) {
  const Expected e = expected({.objective = "ranking-nce", .samples = 1});
  std::vector<double> d(kClasses);
  for (uint32_t y = 0; y < kClasses; ++y) {
    for (uint32_t n = 0; n < kClasses; ++n) {
      const double a_y = std::exp(kScores[y]) / kNoise[y], a_n = std::exp(kScores[n]) / kNoise[n];
      d[y] -= kTruth[y] * kNoise[n] * a_n / (a_y + a_n);
      d[n] += kTruth[y] * kNoise[n] * a_n / (a_y + a_n);
    }
  }
  for (uint32_t k = 0; k < kClasses; ++k) EXPECT_NEAR(e.d_class[k], d[k], 1e-12);
}

// At scores log p* + b (ranking-nce: at any level) nothing moves: the optimum is the true distribution, hits
// included.
TEST(Candidate, OptimumIsTheTrueDistribution) {
  for (const std::string objective : {"nce", "ranking-nce", "snl", "snl with hits known"}) {
    for (const int samples : {1, 2, 3}) {
      const double level = objective == "ranking-nce" ? 4.2 : kNormalizer;
      const bool knows_hits = objective == "snl with hits known";
      const Setting at{.objective = knows_hits ? "snl" : objective,
                       .samples = samples,
                       .scores = logs(kTruth, level),
                       .knows_hits = knows_hits};
      const Expected e = expected(at);
      for (uint32_t k = 0; k < kClasses; ++k) EXPECT_NEAR(e.d_class[k], 0, 1e-12) << objective;
      EXPECT_NEAR(e.d_log_normalizer, 0, 1e-12) << objective;
      for (uint32_t k = 0; k < kClasses; ++k) {
        for (const double step : {-0.3, 0.3}) {
          Setting moved = at;
          moved.scores[k] += step;
          EXPECT_GT(expected(moved).loss, e.loss) << objective;
        }
      }
    }
  }
}

// All samples hit the target: Z_hat is its term alone, and the derivatives are those of it.
TEST(Candidate, KnownTargetIsTheLeastThatZCanBe) {
  const std::vector<double> score{2, 2}, log_q{-1, -1};
  const std::vector<uint8_t> hit{1, 1};
  std::vector<double> d_sample(2);
  for (const std::string objective : {"is", "snl"}) {
    const CandidateTerms t = (*make_candidate_objective(objective))({.score = 2,
                                                                     .log_q = -1,
                                                                     .sample_score = score,
                                                                     .sample_log_q = log_q,
                                                                     .sample_hit = hit,
                                                                     .log_normalizer = 2},
                                                                    d_sample);
    EXPECT_NEAR(t.likelihood, 0, 1e-12) << objective;
    EXPECT_NEAR(t.d_score, 0, 1e-12) << objective;
    EXPECT_NEAR(t.estimate->log_z, 2, 1e-12) << objective;
    EXPECT_EQ(d_sample, std::vector<double>(2, 0)) << objective;
  }
}

// b too small by more than exp can hold: infinite and not NaN, so that the trainer can stop.
TEST(Candidate, SnlOverflowIsInfinite) {
  const std::vector<double> score{0, -2000}, log_q{-1, -1};
  std::vector<double> d_sample(2);
  const double infinity = std::numeric_limits<double>::infinity();
  const CandidateTerms t =
      Snl()({.log_q = -1, .sample_score = score, .sample_log_q = log_q, .log_normalizer = -900}, d_sample);
  EXPECT_EQ(t.likelihood, infinity);
  EXPECT_EQ(t.d_log_normalizer, -infinity);
  EXPECT_EQ(d_sample[0], infinity);
  EXPECT_EQ(d_sample[1], 0);
  const CandidateTerms safe =
      Snl()({.log_q = -1, .sample_score = score, .sample_log_q = log_q, .log_normalizer = 900}, d_sample);
  EXPECT_NEAR(safe.likelihood, 899, 1e-9);
  EXPECT_EQ(safe.d_log_normalizer, 1);
}

TEST(ImportanceWeights, EffectiveSamplesFromOneToAll) {
  const std::vector<double> log_q{-1, -2, -3};
  std::vector<double> share(3);
  const ImportanceEstimate equal = importance_weights(log_q, log_q, {}, share);
  EXPECT_NEAR(equal.log_z, 0, 1e-15);
  EXPECT_NEAR(equal.effective, 3, 1e-12);
  const std::vector<double> peaked{500, 0, 0};
  const ImportanceEstimate one = importance_weights(peaked, log_q, {}, share);
  EXPECT_NEAR(one.log_z, 501 - std::log(3.0), 1e-12);
  EXPECT_NEAR(one.effective, 1, 1e-12);
}

}  // namespace
}  // namespace selfnorm
