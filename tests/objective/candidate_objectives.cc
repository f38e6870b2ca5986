// Every registered candidate objective goes through one gradient check, and every one in the source tree is
// registered.
#include <gtest/gtest.h>

#include <cmath>

#include "gradient_check.h"
#include "objective/registry.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

class EveryCandidateObjective : public testing::TestWithParam<std::string> {
 protected:
  // v = (s, b, s_1 .. s_k)
  CandidateTerms terms(const std::vector<double>& v, std::vector<double>& d_sample) const {
    const std::vector<double> log_q = random_vector<double>(v.size() - 2, 5);
    d_sample.assign(v.size() - 2, 0);
    return (*objective_)({.score = v[0],
                          .log_q = -0.7,
                          .sample_score = std::span<const double>(v).subspan(2),
                          .sample_log_q = log_q,
                          .log_normalizer = v[1]},
                         d_sample);
  }

  std::unique_ptr<CandidateObjective> objective_ = make_candidate_objective(GetParam());
};

TEST_P(EveryCandidateObjective, DerivativesAgreeWithDifferences) {
  for (const size_t samples : {1u, 2u, 17u}) {
    for (const double size : {0.0, 1.0, 5.0}) {
      const std::vector<double> at = random_vector<double>(samples + 2, 3 + samples, size);
      std::vector<double> d_sample;
      const CandidateTerms t = terms(at, d_sample);
      std::vector<double> gradient{t.d_score, t.d_log_normalizer};
      gradient.insert(gradient.end(), d_sample.begin(), d_sample.end());
      const auto loss = [&](const std::vector<double>& v) {
        std::vector<double> unused;
        return terms(v, unused).likelihood;
      };
      expect_gradient(loss, at, gradient);
      EXPECT_TRUE(objective_entry(GetParam()).uses_normalizer || t.d_log_normalizer == 0);
      EXPECT_EQ(objective_entry(GetParam()).uses_estimate, t.estimate.has_value());
    }
  }
}

// The closed form over many targets is the mean of the form for one.
TEST_P(EveryCandidateObjective, PooledIsTheMeanOverTargets) {
  for (const size_t n : {1u, 2u, 9u}) {
    for (const size_t k : {1u, 3u, 20u}) {
      for (const double size : {1.0, 8.0}) {
        const std::vector<double> score = random_vector<double>(n, 1, size),
                                  log_q = random_vector<double>(n, 2);
        const std::vector<double> sample = random_vector<double>(k, 3, size),
                                  sample_q = random_vector<double>(k, 4);
        const double b = 0.3 * size;
        std::vector<double> d_score(n), d_sample(k), each(k), sum(k, 0);
        const CandidateTerms pooled = objective_->pooled({.score = score,
                                                          .log_q = log_q,
                                                          .sample_score = sample,
                                                          .sample_log_q = sample_q,
                                                          .log_normalizer = b},
                                                         d_score, d_sample);
        double loss = 0, d_b = 0;
        const double share = 1 / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i) {
          const CandidateTerms one = (*objective_)({.score = score[i],
                                                    .log_q = log_q[i],
                                                    .sample_score = sample,
                                                    .sample_log_q = sample_q,
                                                    .log_normalizer = b},
                                                   each);
          loss += share * one.likelihood;
          d_b += share * one.d_log_normalizer;
          EXPECT_NEAR(d_score[i], share * one.d_score, 1e-12);
          for (size_t j = 0; j < k; ++j) sum[j] += share * each[j];
          EXPECT_EQ(pooled.estimate.has_value(), one.estimate.has_value());
          if (one.estimate) {
            EXPECT_NEAR(pooled.estimate->log_z, one.estimate->log_z, 1e-12);
          }
        }
        EXPECT_NEAR(pooled.likelihood, loss, 1e-10 * (1 + std::abs(loss)));
        EXPECT_NEAR(pooled.d_log_normalizer, d_b, 1e-10 * (1 + std::abs(d_b)));
        for (size_t j = 0; j < k; ++j) EXPECT_NEAR(d_sample[j], sum[j], 1e-10 * (1 + std::abs(sum[j])));
      }
    }
  }
}

// s -> s + c with b -> b + c changes nothing, and where b is not used s -> s + c alone.
TEST_P(EveryCandidateObjective, OnlyScoresLessNormalizerCount) {
  std::vector<double> at = random_vector<double>(6, 9), unused;
  const double before = terms(at, unused).likelihood;
  for (double& v : at) v += 3;
  EXPECT_NEAR(terms(at, unused).likelihood, before, 1e-12);
  at[1] = -20;
  EXPECT_EQ(std::abs(terms(at, unused).likelihood - before) > 1e-9,
            objective_entry(GetParam()).uses_normalizer);
}

TEST_P(EveryCandidateObjective, ExtremeScoresAreFinite) {
  for (const double huge : {-600.0, 600.0}) {
    for (size_t i = 0; i < 5; ++i) {
      std::vector<double> at(5, 0), d_sample;
      at[i] = huge;
      const CandidateTerms t = terms(at, d_sample);
      EXPECT_TRUE(std::isfinite(t.likelihood + t.d_score + t.d_log_normalizer)) << i << " " << huge;
      for (const double d : d_sample) EXPECT_TRUE(std::isfinite(d)) << i << " " << huge;
    }
  }
}

TEST_P(EveryCandidateObjective, NaNIsNotHidden) {
  std::vector<double> unused;
  EXPECT_TRUE(std::isnan(terms({std::nan(""), 0, 1, 2}, unused).likelihood));
  EXPECT_TRUE(std::isnan(terms({0, 0, 1, std::nan("")}, unused).likelihood));
}

INSTANTIATE_TEST_SUITE_P(All, EveryCandidateObjective, testing::ValuesIn(candidate_objective_names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(CandidateRegistry, UnknownNamesAreUserErrors) {
  EXPECT_THROW(make_candidate_objective("penalty"), Error);
  EXPECT_FALSE(is_candidate_objective("penalty"));
  EXPECT_TRUE(is_candidate_objective("snl"));
}

}  // namespace
}  // namespace selfnorm
