#include "audit/error_audit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

ErrorAudit audited(const std::vector<double>& errors, const AuditOptions& options) {
  ErrorAuditor auditor(options);
  for (size_t i = 0; i < errors.size(); ++i) auditor.add(100 + i, errors[i]);
  return auditor.finish();
}

TEST(ErrorAudit, StatisticsOfAKnownList) {
  const ErrorAudit found = audited({-3, 1, 3, -1, 2}, {.eps = 1.5, .rho = 0.9, .bins = 4, .worst = 3});
  EXPECT_NEAR(found.log_z.mean, 0.4, 1e-15);
  EXPECT_NEAR(found.log_z.rms, std::sqrt(24.0 / 5), 1e-15);
  EXPECT_NEAR(found.log_z.std, std::sqrt(24.0 / 5 - 0.16), 1e-15);
  EXPECT_EQ(found.log_z.min, -3);
  EXPECT_EQ(found.log_z.max, 3);
  EXPECT_EQ(found.log_z.q50, 1);
  EXPECT_EQ(found.quantiles.front(), (std::pair{0.0, -3.0}));
  EXPECT_EQ(found.quantiles.back(), (std::pair{1.0, 3.0}));
  EXPECT_EQ(found.certificate.n, 5u);
  EXPECT_EQ(found.certificate.exceed, 3u);
  EXPECT_EQ(found.certificate.rho_bound, clopper_pearson_upper(3, 5, 0.99));
  uint64_t counted = 0;
  for (const HistogramBin& bin : found.histogram) counted += bin.count;
  EXPECT_EQ(found.histogram.size(), 4u);
  EXPECT_EQ(counted, 5u);
  // Equal sizes in the order of the inputs.
  ASSERT_EQ(found.worst.size(), 3u);
  EXPECT_EQ(found.worst[0].example, 100u);
  EXPECT_EQ(found.worst[1].example, 102u);
  EXPECT_EQ(found.worst[2].example, 104u);
  EXPECT_EQ(found.worst[0].error, -3);
}

TEST(ErrorAudit, NoErrorAnywhere) {
  const ErrorAudit found = audited(std::vector<double>(2000, 0.0), {.worst = 0});
  EXPECT_EQ(found.log_z.rms, 0);
  EXPECT_TRUE(found.certificate.certified);
  EXPECT_EQ(*found.certificate.smallest_eps, 0);
  EXPECT_EQ(found.histogram.size(), 1u);
  EXPECT_EQ(found.histogram[0].count, 2000u);
  EXPECT_TRUE(found.worst.empty());
}

TEST(ErrorAudit, WhatIsInDoubtIsNotCertified) {
  const AuditOptions options{.eps = 0.1, .rho = 0.5, .confidence = 0.9};
  const auto found = [&](double doubt) {
    ErrorAuditor auditor(options);
    for (uint64_t i = 0; i < 20; ++i) auditor.add(i, 0.05, i < 15 ? doubt : 0);
    return auditor.finish();
  };
  EXPECT_EQ(found(0.04).certificate.exceed, 0u);
  EXPECT_TRUE(found(0.04).certificate.certified);
  EXPECT_EQ(*found(0.04).certificate.smallest_eps, 0.05 + 0.04);
  EXPECT_EQ(found(0.06).certificate.exceed, 15u);
  EXPECT_FALSE(found(0.06).certificate.certified);
  EXPECT_EQ(found(INFINITY).certificate.exceed, 15u);
  EXPECT_FALSE(found(INFINITY).certificate.smallest_eps);
  EXPECT_EQ(found(INFINITY).log_z.max, 0.05);
}

TEST(ErrorAudit, InputsNeededAreTheFewestThatCertify) {
  for (const double rho : {0.5, 0.1, 0.01, 0.001})
    for (const double confidence : {0.5, 0.9, 0.99}) {
      const uint64_t needed = Certificate{.rho = rho, .confidence = confidence}.inputs_needed();
      EXPECT_GE(largest_certifiable_count(needed, rho, confidence), 0);
      EXPECT_TRUE(needed == 1 || largest_certifiable_count(needed - 1, rho, confidence) < 0);
    }
}

TEST(ErrorAudit, ALargeMeanDoesNotHideASmallVariance) {
  RunningVariance moments;
  for (int i = 0; i < 1000; ++i) moments.add(1e9 + (i % 2));
  EXPECT_NEAR(moments.variance(), 0.25, 1e-6);
  EXPECT_NEAR(moments.standard_error(), std::sqrt(250.0 / 999 / 1000), 1e-6);
  EXPECT_EQ(RunningVariance().standard_error(), 0);
}

TEST(ErrorAudit, RefusesOptionsOutOfRange) {
  for (const AuditOptions& bad : {AuditOptions{.eps = 0}, AuditOptions{.eps = NAN}, AuditOptions{.rho = 1},
                                  AuditOptions{.confidence = 0}, AuditOptions{.bins = 0}})
    EXPECT_THROW(ErrorAuditor{bad}, Error);
}

}  // namespace
}  // namespace selfnorm
