#include <gtest/gtest.h>

#include "family/regressor/train/regressor_step_problem.h"
#include "model/regressor/regressor.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSamples = 9;

struct CandidateCase {
  const char *objective, *base;
  bool is_bounded;

  friend void PrintTo(const CandidateCase& c, std::ostream* out) {
    *out << c.objective << ' ' << c.base << (c.is_bounded ? " bounded" : " free");
  }
};

class EveryCandidateStep : public testing::TestWithParam<CandidateCase> {
 protected:
  EveryCandidateStep() : problem_(7, shape(), false) {
    problem_.options.objective = GetParam().objective;
    problem_.options.base = GetParam().base;
    problem_.options.samples = kSamples;
    for (size_t i = 0; i < problem_.b.size(); ++i) problem_.b[i] = 0.3 * static_cast<double>(i) - 0.5;
  }

  static MixtureShape shape() {
    MixtureShape out = unbounded(2, 3);
    if (GetParam().is_bounded) {
      out.lower = {-5, -4};
      out.upper = {INFINITY, 4};
    }
    return out;
  }

  RegressorStepProblem problem_;
};

TEST_P(EveryCandidateStep, DerivativesOfTiltAndContext) {
  const auto step = make_regressor_step(problem_.parts());
  EXPECT_LT(problem_.gradient_error(*step, 3e-3f), 1e-3);
}

TEST_P(EveryCandidateStep, BitsAreThoseOfTheStep) {
  const auto step = make_regressor_step(problem_.parts());
  expect_bits_of_the_step(problem_, *step);
}

TEST_P(EveryCandidateStep, DerivativesOfTheNormalizer) {
  const auto step = make_regressor_step(problem_.parts());
  const std::vector<double> derivative = problem_(*step).b;
  for (size_t i = 0; i < derivative.size(); ++i) {
    const double b = problem_.b[i], h = 1e-5;
    problem_.b[i] = b + h;
    const double above = problem_(*step).terms.loss;
    problem_.b[i] = b - h;
    const double below = problem_(*step).terms.loss;
    problem_.b[i] = b;
    EXPECT_NEAR(derivative[i], (above - below) / (2 * h), 1e-8) << i;
  }
}

// The draws and their log q are constants of the objective; the base is not.
TEST_P(EveryCandidateStep, TheMixtureLearnsThroughTheBase) {
  const std::string objective = GetParam().objective;
  const bool is_broad = std::string(GetParam().base) == "broad";
  const auto step = make_regressor_step(problem_.parts());
  const auto result = problem_(*step);
  EXPECT_EQ(is_zero(result.mixture), is_broad);
  if (is_broad || objective_entry(objective).jitters_target) return;
  const uint64_t n = problem_.n, each = kSamples + 1, d = 2;
  std::vector<float> draws(n * kSamples * d), y;
  std::vector<uint32_t> row;
  problem_.mixture.sample(problem_.in().mixture, kSamples, problem_.options.defence,
                          candidate_sample_seed(problem_.options.seed, problem_.step), draws);
  for (uint32_t i = 0; i < n; ++i) {
    y.insert(y.end(), &problem_.y[i * d], &problem_.y[i * d] + d);
    y.insert(y.end(), &draws[i * kSamples * d], &draws[i * kSamples * d] + kSamples * d);
    row.insert(row.end(), each, i);
  }
  const Points points{y.data(), row.size(), 2};
  std::vector<double> log_q(row.size()), log_g(row.size()), f(row.size()), s(row.size()), d_sample(kSamples);
  problem_.mixture.log_prob({problem_.in().mixture, points, row}, log_q, log_g);
  broaden(log_q, log_g, problem_.options.defence);
  problem_.tilt->score({problem_.in().context, points, row}, f);
  const auto formula = make_candidate_objective(objective);
  const auto loss = [&] {
    base_log_prob(problem_.mixture, problem_.options.tail_weight, {problem_.in().mixture, points, row}, s);
    double sum = 0;
    for (size_t i = 0; i < s.size(); ++i) s[i] += f[i];
    for (uint64_t i = 0; i < n; ++i) {
      const auto own = std::span<const double>(s).subspan(i * each, each);
      const auto own_q = std::span<const double>(log_q).subspan(i * each, each);
      sum += (*formula)({.score = own[0],
                         .log_q = own_q[0],
                         .sample_score = own.subspan(1),
                         .sample_log_q = own_q.subspan(1),
                         .log_normalizer = problem_.b[i]},
                        d_sample)
                 .likelihood;
    }
    return sum / static_cast<double>(n);
  };
  EXPECT_NEAR(loss(), result.terms.loss, 1e-9);
  for (size_t i = 0; i < problem_.parameters.size(); ++i) {
    const float before = problem_.parameters[i], h = 2e-3f;
    problem_.parameters[i] = before + h;
    const double above = loss();
    problem_.parameters[i] = before - h;
    const double below = loss();
    const double step_size = static_cast<double>(before + h) - static_cast<double>(before - h);
    problem_.parameters[i] = before;
    EXPECT_NEAR(static_cast<double>(result.mixture[i]), (above - below) / step_size, 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryCandidateStep,
    testing::Values(CandidateCase{"snl", "proposal", false}, CandidateCase{"snl", "broad", false},
                    CandidateCase{"snl", "proposal", true}, CandidateCase{"is", "proposal", false},
                    CandidateCase{"nce", "proposal", true}, CandidateCase{"nce", "broad", true},
                    CandidateCase{"ranking-nce", "proposal", false}, CandidateCase{"nce+", "proposal", true},
                    CandidateCase{"kld-is", "proposal", false}),
    [](const auto& p) {
      std::string name =
          std::string(p.param.objective) + p.param.base + (p.param.is_bounded ? "Bounded" : "Free");
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST(RegressorStep, SaysWhichObjectivesLearnB) {
  for (const char* name : {"snl", "nce", "nce+"}) EXPECT_TRUE(objective_entry(name).uses_normalizer) << name;
  for (const char* name : {"is", "ranking-nce", "kld-is", "mcmc", "sm", "dsm", "mdn"})
    EXPECT_FALSE(objective_entry(name).uses_normalizer) << name;
}

}  // namespace
}  // namespace selfnorm
