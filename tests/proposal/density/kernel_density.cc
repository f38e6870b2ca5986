#include "proposal/density/kernel_density.h"

#include "proposal/density/density_checks.h"
#include "proposal/density/elliptical.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

KernelDensity small() {
  const std::vector<double> covariance{4, 1, 1, 2};
  return {{0.5, {1, 2}, PrecisionRoot::of_covariance(2, covariance)}, {0, 0, 1, 2, -2, 1, 3, 3, 0, -1}};
}

TEST(KernelDensity, IsTheMeanOfItsKernels) {
  const KernelDensity q = small();
  const std::vector<double> covariance{1, 0.25, 0.25, 0.5};  // h^2 S
  const std::vector<double> centres = q.record().values["centres"];
  LogSumExp sum;
  for (size_t i = 0; i < 5; ++i)
    sum.add(log_prob_at(
        Gaussian({centres[2 * i], centres[2 * i + 1]}, PrecisionRoot::of_covariance(2, covariance)),
        {0.5, 0.75}));
  EXPECT_NEAR(log_prob_at(q, {0.5, 0.75}), sum.value() - std::log(5.0), 1e-13);
}

TEST(KernelDensity, IntegratesToOne) {
  EXPECT_NEAR(grid_integral(small(), -16, 16, 256), 1, 1e-9);
  const KernelDensity line({0.5, {1}, {PrecisionRoot::Shape::full, 1, {2}}}, {0, 1, 3});
  EXPECT_NEAR(grid_integral(line, -16, 16, 1024), 1, 1e-9);
}

TEST(KernelDensity, DrawsFollowTheMarginal) {
  const auto cdf = [](double x) {
    double sum = 0;
    for (const double centre : {0.0, 1.0, -2.0, 3.0, 0.0}) sum += normal_cdf(x - centre) / 5;
    return sum;
  };
  EXPECT_LT(ks_distance(small(), 0, 20000, cdf), 1.95);
}

TEST(KernelDensity, DerivativesInX) {
  expect_derivatives(small(), {0.5, 0.75}, {1, -0.5}, 1e-3);
  expect_derivatives(small(), {-5, 4}, {0.25, 0.5}, 1e-3);
}

TEST(KernelDensity, RoundTrip) { expect_round_trip(small()); }

TEST(KernelDensity, BandwidthAsAsked) {
  const std::vector<float> rows = random_vector<float>(200, 1);
  EXPECT_EQ(fit_kernel_density({rows.data(), 100, 2}, 0.25, 0)->bandwidth(), 0.25);
}

// Held-out likelihood follows the structure: two narrow bumps far apart need much less than Scott's rule,
// which is nearly right for a normal sample.
TEST(KernelDensity, BandwidthByHeldOutLikelihood) {
  std::vector<float> rows = random_vector<float>(2000, 3);
  const double scott = std::pow(2000.0, -1.0 / 5);
  const double normal = fit_kernel_density({rows.data(), 2000, 1}, 0, 0)->bandwidth() / scott;
  EXPECT_GT(normal, 0.6);
  EXPECT_LE(normal, 2);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = 0.01f * rows[i] + (i % 2 == 0 ? 1.0f : -1.0f);
  EXPECT_LT(fit_kernel_density({rows.data(), 2000, 1}, 0, 0)->bandwidth() / scott, 0.1);
}

TEST(KernelDensity, AtMostTenThousandKernels) {
  const std::vector<float> rows = random_vector<float>(12000, 4);
  EXPECT_EQ(fit_kernel_density({rows.data(), 12000, 1}, 0.2, 0)->kernels(), 10000u);
}

TEST(KernelDensity, DegenerateDataStayFinite) {
  const std::vector<float> same(40, 2.0f), far{1e30f, -1e20f};
  for (const uint64_t rows : {uint64_t{1}, uint64_t{20}}) {
    const auto q = fit_kernel_density({same.data(), rows, 2}, 0, 0);
    EXPECT_TRUE(std::isfinite(log_prob_at(*q, {2, 2})));
    std::vector<double> log_q(1), gradient(2);
    q->log_prob_gradient({far.data(), 1, 2}, log_q, gradient);
    EXPECT_TRUE(std::isfinite(log_q[0]) && log_q[0] < -1e20);
    for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
  }
}

}  // namespace
}  // namespace selfnorm
