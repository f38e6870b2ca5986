#include "proposal/density/mixture_em.h"

#include <algorithm>

#include "math/parallel.h"
#include "proposal/density/density_checks.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Weights .5, .3, .2 at (-30, 5), (0, 5), (40, 8), with correlated spreads of different sizes.
GaussianMixture known() {
  MixtureComponents c;
  c.logit = {std::log(0.5), std::log(0.3), std::log(0.2)};
  c.mean = {-30, 5, 0, 5, 40, 8};
  for (const std::vector<double>& s : {std::vector<double>{25, 4, 4, 2}, {9, 0, 0, 1}, {100, -9, -9, 1}})
    c.roots.push_back(PrecisionRoot::of_covariance(2, s));
  return {std::move(c), 0};
}

std::vector<float> draws(const Density& q, size_t n) {
  std::vector<float> rows(n * q.dimension());
  sample_density(q, 21, rows, {});
  return rows;
}

TEST(MixtureEm, RecoversAKnownMixture) {
  const GaussianMixture q = known();
  const std::vector<float> rows = draws(q, 10000);
  const EmResult fit = fit_mixture({rows.data(), 10000, 2}, {.components = 3});
  ASSERT_EQ(fit.components.logit.size(), 3u);
  const GaussianMixture fitted(fit.components, 0);
  std::vector<size_t> order{0, 1, 2};
  std::ranges::sort(order, {}, [&](size_t k) { return fit.components.mean[2 * k]; });
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(std::exp(fitted.log_weight()[order[k]]), std::exp(q.log_weight()[k]), 0.02);
    for (size_t j = 0; j < 2; ++j)
      EXPECT_NEAR(fit.components.mean[2 * order[k] + j], q.components().mean[2 * k + j], 0.7);
    for (size_t place = 0; place < 3; ++place) {
      const double truth = q.components().roots[k].inverse()[place];
      EXPECT_NEAR(fit.components.roots[order[k]].inverse()[place], truth, 0.05 * std::abs(truth) + 0.1);
    }
  }
  // Its likelihood of the rows is that of the truth, within the 17 parameters' worth of chance.
  double gain = 0;
  const std::vector<double> ours = log_probs(fitted, rows), theirs = log_probs(q, rows);
  for (size_t i = 0; i < ours.size(); ++i) gain += ours[i] - theirs[i];
  EXPECT_GT(gain, -5);
  EXPECT_LT(gain, 30);
}

TEST(MixtureEm, TheLikelihoodNeverFalls) {
  const std::vector<float> rows = draws(known(), 3000);
  for (const uint32_t components : {2u, 3u, 8u}) {
    const EmResult fit = fit_mixture({rows.data(), 3000, 2}, {.components = components, .tolerance = -1});
    ASSERT_EQ(fit.components.logit.size(), components);
    ASSERT_EQ(fit.trace.size(), 200u);
    for (size_t t = 1; t < fit.trace.size(); ++t) EXPECT_GE(fit.trace[t], fit.trace[t - 1] - 1e-12) << t;
    EXPECT_GT(fit.trace.back(), fit.trace.front());
  }
}

TEST(MixtureEm, StopsByTheLikelihood) {
  const std::vector<float> rows = draws(known(), 3000);
  const EmResult fit = fit_mixture({rows.data(), 3000, 2}, {.components = 3});
  ASSERT_LT(fit.trace.size(), 200u);
  EXPECT_LT(fit.trace.back() - fit.trace[fit.trace.size() - 2], 2e-5);
}

TEST(MixtureEm, OneComponentIsTheGaussianWithItsPrior) {
  const std::vector<float> rows{-1, 1, -1, 1};  // variance 1 and S_0 = 1 + ridge
  const EmResult fit = fit_mixture({rows.data(), 4, 1}, {.components = 1});
  EXPECT_NEAR(fit.components.mean[0], 0, 1e-15);
  EXPECT_NEAR(fit.components.roots[0].inverse()[0], 1, 1e-6);
}

TEST(MixtureEm, DegenerateDataKeepFewerComponents) {
  std::vector<float> twice(200);  // 100 rows, two distinct ones
  for (size_t i = 0; i < 100; ++i) twice[2 * i] = twice[2 * i + 1] = i % 2 == 0 ? 1.0f : 3.0f;
  const EmResult two = fit_mixture({twice.data(), 100, 2}, {.components = 8});
  EXPECT_EQ(two.components.logit.size(), 2u);
  EXPECT_EQ(fit_mixture({twice.data(), 1, 2}, {.components = 8}).components.logit.size(), 1u);
  std::vector<float> flat(300, 5.0f);  // the second column is constant
  for (size_t i = 0; i < 150; ++i) flat[2 * i] = static_cast<float>(i % 17);
  const EmResult constant = fit_mixture({flat.data(), 150, 2}, {.components = 8});
  for (const EmResult* fit : {&two, &constant}) {
    const GaussianMixture q(fit->components, 0);
    for (const double log_q : log_probs(q, fit == &two ? twice : flat)) EXPECT_TRUE(std::isfinite(log_q));
  }
}

TEST(MixtureEm, ManyDimensionsAndFewRows) {
  std::vector<float> rows(20 * 60);
  RandomStream random(5);
  for (float& v : rows) v = static_cast<float>(random.normal());
  const EmResult fit = fit_mixture({rows.data(), 60, 20}, {.components = 32});
  EXPECT_EQ(fit.components.logit.size(), 2u);
  for (const double log_q : log_probs(GaussianMixture(fit.components, 0), rows))
    EXPECT_TRUE(std::isfinite(log_q));
}

TEST(MixtureEm, AnyNumberOfThreadsFitsTheSame) {
  const std::vector<float> rows = draws(known(), 2500);
  std::vector<EmResult> fits;
  for (int threads = 1; threads <= 3; ++threads) {
    const ThreadLimit limit(threads);
    fits.push_back(fit_mixture({rows.data(), 2500, 2}, {.components = 5, .rows = 2000}));
  }
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(fits[0].components.mean, fits[i].components.mean);
    EXPECT_EQ(fits[0].trace, fits[i].trace);
  }
}

}  // namespace
}  // namespace selfnorm
