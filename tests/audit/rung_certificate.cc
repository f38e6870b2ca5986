#include "audit/rung_certificate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audit/error_audit.h"
#include "math/random.h"

namespace selfnorm {
namespace {

runtime::Rung named(const std::string& name) {
  runtime::Rung out;
  out.name = name;
  return out;
}

TEST(RungCertificate, IsClopperPearsonAtASharedConfidence) {
  RandomStream random(3);
  std::vector<RungErrors> measured{{named("a"), {}}, {named("b"), {}}, {named("c"), {}}};
  for (int i = 0; i < 2000; ++i)
    for (size_t r = 0; r < 3; ++r) measured[r].errors.push_back(static_cast<double>(r + 1) * random.normal());
  const std::vector<runtime::Rung> rungs = certified_together(measured, 0.01, 0.99);
  ASSERT_EQ(rungs.size(), 3u);
  for (size_t r = 0; r < 3; ++r) {
    uint64_t exceed = 0, one_more = 0;
    double squares = 0;
    for (const double e : measured[r].errors) {
      exceed += std::abs(e) > rungs[r].eps;
      one_more += std::abs(e) >= rungs[r].eps;
      squares += e * e;
    }
    EXPECT_LE(clopper_pearson_upper(exceed, 2000, 1 - 0.01 / 3), 0.01);
    EXPECT_GT(clopper_pearson_upper(one_more, 2000, 1 - 0.01 / 3), 0.01);
    EXPECT_NEAR(rungs[r].rms, std::sqrt(squares / 2000), 1e-12);
    EXPECT_EQ(rungs[r].conf, 0.99);
  }
}

TEST(RungCertificate, FewInputsCertifyNothing) {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{458}})
    EXPECT_TRUE(std::isinf(certified_together({{named("a"), std::vector<double>(n)}}, 0.01, 0.99)[0].eps))
        << n;
  EXPECT_EQ(certified_together({{named("a"), std::vector<double>(459)}}, 0.01, 0.99)[0].eps, 0);
}

// The least n whose largest error can be certified.
TEST(RungCertificate, InputsNeededAreJustEnough) {
  for (const size_t rungs : {1, 2, 7, 16}) {
    for (const double rho : {0.01, 0.05}) {
      const uint64_t n = inputs_needed(rho, 0.99, rungs);
      EXPECT_TRUE(std::isfinite(certified_error(std::vector<double>(n, 0.1), rho, 0.99, rungs)));
      EXPECT_FALSE(std::isfinite(certified_error(std::vector<double>(n - 1, 0.1), rho, 0.99, rungs)));
    }
  }
}

TEST(RungCertificate, FewInputsArePartedByWhatIsNeeded) {
  EXPECT_EQ(fitted_of(10'000, 700, 200), 4500u);
  EXPECT_EQ(fitted_of(1200, 700, 200), 500u);  // 45% would leave 660
  EXPECT_EQ(fitted_of(900, 700, 200), 200u);
  EXPECT_EQ(fitted_of(899, 700, 200), 404u);  // nothing can be certified
  for (uint64_t n = 900; n < 3000; ++n) {
    EXPECT_GE(n - fitted_of(n, 700, 200), 700u) << n;
    EXPECT_GE(fitted_of(n, 700, 200), 200u) << n;
    EXPECT_LE(fitted_of(n, 700, 200), n * 45 / 100) << n;
  }
}

// 4 of 200 beyond what 1% may be is no wonder, 20 are.
TEST(RungCertificate, DriftIsWhatChanceDoesNotExplain) {
  runtime::Rung rung = named("a"), open = named("b");
  rung.eps = 0.1;
  rung.rho = 0.01;
  rung.conf = 0.99;
  std::vector<RungDrift> drift = certified_rungs({rung, open, rung, rung});
  ASSERT_EQ(drift.size(), 3u);
  const uint64_t exceeded[] = {0, 4, 20};
  for (size_t i = 0; i < 3; ++i) drift[i].inputs = 200, drift[i].exceeded = exceeded[i];
  judge_drift(drift);
  EXPECT_EQ(drift[0].rho_least, 0);
  EXPECT_FALSE(drift[1].has_drifted());
  EXPECT_TRUE(drift[2].has_drifted());
  EXPECT_LT(drift[2].rho_least, 0.1);
}

// The best of ten rungs, chosen after the fact, keeps its promise with the confidence that was said: 2,000
// trials whose errors are uniform on [0, 1], so that a rung with eps is off in 1 - eps of all inputs. 50
// failures have a probability below 1e-8 where at most 20 are expected.
TEST(RungCertificate, ChoosingKeepsTheCoverage) {
  RandomStream random(5);
  int failures = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<RungErrors> measured(10);
    for (RungErrors& of : measured)
      for (int i = 0; i < 100; ++i) of.errors.push_back(random.uniform());
    double least = 1;
    for (const runtime::Rung& rung : certified_together(measured, 0.1, 0.99))
      least = std::min(least, rung.eps);
    failures += 1 - least > 0.1;
  }
  EXPECT_LT(failures, 50);
}

}  // namespace
}  // namespace selfnorm
