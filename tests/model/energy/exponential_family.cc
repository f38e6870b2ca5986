#include "model/energy/exponential_family.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gradient_check.h"
#include "model/energy/energy_check.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using std::numbers::pi;

struct Case {
  FamilyPlan plan;
  std::vector<double> eta;  // valid, exact in float
  std::vector<float> x;     // inside the support
};

std::vector<Case> cases() {
  const std::vector<float> reals = {0.5f, -1.25f, 0.25f, 2, -0.75f, 1.5f};
  const std::vector<float> positive = {0.5f, 1.25f, 0.25f, 2, 0.75f, 1.5f};
  const std::vector<float> bits = {0, 1, 1, 1, 0, 1, 0, 0, 0};
  return {
      {{"gaussian", 2, {}, {}}, {0.5, -0.25, -1, -0.75, 0.5}, reals},
      {{"truncated-gaussian", 2, {-2, -2}, {3, INFINITY}}, {0.5, -0.25, -1, -0.75, 0}, reals},
      {{"truncated-gaussian", 1, {-3}, {3}}, {0.5, 0.25}, reals},
      {{"exponential", 2, {}, {}}, {-0.5, -2}, positive},
      {{"gamma", 2, {}, {}}, {1.5, -0.25, -0.5, -2}, positive},
      {{"von-mises", 2, {}, {}}, {1.5, 0.25, -0.5, -2}, reals},
      {{"poisson", 2, {}, {}}, {0.5, -1}, {0, 1, 3, 2}},
      {{"bernoulli", 3, {}, {}}, {0.5, -1, 2}, bits},
      {{"ising", 3, {}, {}}, {0.5, -1, 2, 0.25, -0.5, 1}, bits},
      {{"family:x,x2,x3,x4", 1, {}, {}}, {1, 0.5, -0.25, -0.5}, reals},
      {{"family:x,abs,cos,sin", 2, {}, {}}, {0.25, -0.5, -1, -2, 0.5, 1, -1, 0.5}, reals},
      {{"family:x2,xx,x4", 2, {}, {}}, {0.25, 0.5, 3, -1, -2}, reals},
      {{"family:log,x3", 2, {0, 0}, {INFINITY, INFINITY}}, {-0.5, 2, -1, -2}, positive},
  };
}

TEST(ExponentialFamily, ScoresAreLinearInEta) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.plan.word);
    ExponentialFamily family(c.plan);
    family.set_eta(c.eta);
    ASSERT_EQ(family.eta(), c.eta);
    const auto s = scores(family, c.x);
    std::vector<double> t(family.count());
    for (size_t i = 0; i < s.size(); ++i) {
      const std::span<const float> x(c.x.data() + i * family.dimension(), family.dimension());
      family.statistics(x, t);
      double expected = family.log_carrier(x);
      for (size_t k = 0; k < t.size(); ++k) expected += c.eta[k] * t[k];
      EXPECT_NEAR(s[i], expected, 1e-12);
    }
  }
}

TEST(ExponentialFamily, DerivativesAreThoseOfTheScores) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.plan.word);
    ExponentialFamily family(c.plan);
    family.set_eta(c.eta);
    expect_parameter_gradient(family, c.x);
    if (!family.support().is_real()) continue;
    std::vector<float> v(c.x.size());
    for (size_t i = 0; i < v.size(); ++i) v[i] = 0.5f - 0.25f * static_cast<float>(i % 4);
    expect_point_derivatives(family, c.x, v);
  }
}

// E T is the gradient of log Z.
TEST(ExponentialFamily, TheMeanIsTheGradientOfLogZ) {
  int forms = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.plan.word);
    const ExponentialFamily family(c.plan);
    const auto mean = family.mean(c.eta);
    ASSERT_EQ(mean.has_value(), family.log_z(c.eta).has_value());
    if (!mean) continue;
    ++forms;
    if (c.plan.word == "truncated-gaussian") {  // the closed form knows no couplings to differentiate along
      for (size_t k = 0; k < 2 * c.plan.dimension; ++k) {
        std::vector<double> above = c.eta, below = c.eta;
        above[k] += 1e-5, below[k] -= 1e-5;
        EXPECT_NEAR((*mean)[k], (*family.log_z(above) - *family.log_z(below)) / 2e-5, 1e-7);
      }
      continue;
    }
    expect_gradient([&](const std::vector<double>& eta) { return *family.log_z(eta); }, c.eta, *mean);
  }
  EXPECT_EQ(forms, 7);
}

TEST(ExponentialFamily, ClosedForms) {
  const auto log_z = [](const FamilyPlan& plan, const std::vector<double>& eta) {
    return ExponentialFamily(plan).log_z(eta).value();
  };
  // N(mu, sigma^2): eta = (mu / sigma^2, -1 / (2 sigma^2)).
  EXPECT_NEAR(log_z({"gaussian", 1, {}, {}}, {3.0 / 4, -1.0 / 8}), std::log(2 * pi * 4) / 2 + 9.0 / 8, 1e-12);
  // P = [[2, 1], [1, 2]], det 3, h = 0.
  EXPECT_NEAR(log_z({"gaussian", 2, {}, {}}, {0, 0, -1, -1, -1}), std::log(2 * pi) - std::log(3) / 2, 1e-12);
  EXPECT_NEAR(log_z({"truncated-gaussian", 1, {0}, {INFINITY}}, {0, -0.5}),
              std::log(2 * pi) / 2 - std::log(2), 1e-12);
  EXPECT_NEAR(log_z({"gamma", 1, {}, {}}, {2, -0.5}), std::log(2 * 8), 1e-12);
  EXPECT_NEAR(log_z({"poisson", 1, {}, {}}, {std::log(3)}), 3, 1e-12);
  EXPECT_NEAR(log_z({"bernoulli", 2, {}, {}}, {0, std::log(3)}), std::log(8), 1e-12);
  // Both sides of the change of series, and no overflow.
  for (const double kappa : {0.0, 0.5, 5.0, 39.9, 40.1, 300.0}) {
    EXPECT_NEAR(log_z({"von-mises", 1, {}, {}}, {kappa, 0}), std::log(2 * pi * std::cyl_bessel_i(0, kappa)),
                1e-11)
        << kappa;
    EXPECT_NEAR(ExponentialFamily({"von-mises", 1, {}, {}}).mean(std::vector{0.0, kappa}).value()[1],
                std::cyl_bessel_i(1, kappa) / std::cyl_bessel_i(0, kappa), 1e-12);
  }
  EXPECT_NEAR(log_z({"von-mises", 1, {}, {}}, {1e6, 0}), 1e6 + std::log(2 * pi) - std::log(2 * pi * 1e6) / 2,
              1e-6);
  // A box 30 standard deviations out is computed; one that Phi cannot see has no closed form.
  EXPECT_TRUE(std::isfinite(log_z({"truncated-gaussian", 1, {30}, {31}}, {0, -0.5})));
  EXPECT_FALSE(ExponentialFamily({"truncated-gaussian", 1, {60}, {61}}).log_z(std::vector{0.0, -0.5}));
}

// After any step of an optimiser the parameters can be normalised, and valid ones are left alone.
TEST(ExponentialFamily, ParametersStayValid) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.plan.word);
    ExponentialFamily family(c.plan);
    EXPECT_EQ(family.domain().violation(family.domain().start()), "");
    EXPECT_EQ(family.domain().violation(c.eta), "");
    std::vector<double> kept = c.eta;
    family.domain().project(kept);
    EXPECT_EQ(kept, c.eta);
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const auto step = random_vector<float>(family.count(), seed);
      for (size_t k = 0; k < step.size(); ++k) family.parameters()[k] = 100 * step[k];
      family.parameters_changed();
      EXPECT_EQ(family.domain().violation(family.eta()), "");
    }
  }
}

TEST(ExponentialFamily, SaysWhichParametersAreWrong) {
  const auto expect_violation = [](const FamilyPlan& plan, const std::vector<double>& eta, const char* what) {
    ExponentialFamily family(plan);
    EXPECT_NE(family.domain().violation(eta).find(what), std::string::npos) << family.domain().violation(eta);
    EXPECT_THROW(family.set_eta(eta), Error);
  };
  expect_violation({"gaussian", 1, {}, {}}, {0, 0.5}, "positive definite");
  expect_violation({"gaussian", 2, {}, {}}, {0, 0, -0.5, -0.5, 1.5}, "positive definite");
  expect_violation({"exponential", 2, {}, {}}, {-1, 0}, "coordinate 1");
  expect_violation({"gamma", 1, {}, {}}, {-1, -1}, "above -1");
  expect_violation({"family:x,abs", 1, {}, {}}, {1, -1}, "minus the size");
  expect_violation({"poisson", 1, {}, {}}, {800}, "below 700");
  expect_violation({"bernoulli", 1, {}, {}}, {NAN}, "finite");
}

TEST(ExponentialFamily, RefusesPlansThatMakeNoDensity) {
  EXPECT_THROW(ExponentialFamily({"family:x", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:x,x2,x3", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:cos", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:log,x2", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:x2,x2", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:x2,x5", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"family:", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"gauss", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"gaussian", 0, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"gaussian", 1, {0}, {1}}), Error);
  EXPECT_THROW(ExponentialFamily({"truncated-gaussian", 1, {}, {}}), Error);
  EXPECT_THROW(ExponentialFamily({"truncated-gaussian", 1, {1}, {1}}), Error);
  EXPECT_THROW(ExponentialFamily({"truncated-gaussian", 2, {0}, {1}}), Error);
}

TEST(ExponentialFamily, NothingIsOutsideTheSupport) {
  for (const auto& [plan, x] :
       std::vector<std::pair<FamilyPlan, float>>{{{"exponential", 1, {}, {}}, -1.0f},
                                                 {{"gamma", 1, {}, {}}, -1.0f},
                                                 {{"von-mises", 1, {}, {}}, 4.0f},
                                                 {{"poisson", 1, {}, {}}, 0.5f},
                                                 {{"bernoulli", 1, {}, {}}, 2.0f},
                                                 {{"truncated-gaussian", 1, {0}, {1}}, 2.0f}}) {
    const ExponentialFamily family(plan);
    EXPECT_EQ(scores(family, {x})[0], -INFINITY) << plan.word;
    std::vector<float> gradient(family.count());
    const auto pass = family.make_pass();
    EXPECT_EQ(pass->forward({&x, 1, 1})[0], -INFINITY);
    pass->backward(std::vector{1.0}, gradient);
    for (const float g : gradient) EXPECT_EQ(g, 0) << plan.word;
  }
  // The end of the half line is inside, with a finite score.
  EXPECT_TRUE(std::isfinite(scores(ExponentialFamily({"gamma", 1, {}, {}}), {0.0f})[0]));
}

TEST(ExponentialFamily, RecordsMakeTheSameFamilyAgain) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.plan.word);
    ExponentialFamily family(c.plan);
    family.set_eta(c.eta);
    const EnergyRecord record = family.record();
    const auto again = make_exponential_family(record);
    EXPECT_EQ(again->eta(), family.eta());
    EXPECT_EQ(scores(*again, c.x), scores(family, c.x));
    EnergyRecord damaged = record;
    damaged.tensors[0].values.pop_back();
    EXPECT_THROW(make_exponential_family(damaged), Error);
    damaged = record;
    damaged.settings = "{}";
    EXPECT_THROW(make_exponential_family(damaged), Error);
  }
}

TEST(ExponentialFamily, BitsDoNotDependOnThreads) {
  const auto x = random_vector<float>(3000, 1);
  ExponentialFamily family({"gaussian", 3, {}, {}});
  expect_thread_invariance(family, x);
}

}  // namespace
}  // namespace selfnorm
