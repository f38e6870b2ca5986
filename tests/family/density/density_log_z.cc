#include "family/density/density_log_z.h"

#include <gtest/gtest.h>

#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "proposal/density/composed.h"
#include "small_models.h"

namespace selfnorm {
namespace {

DensityModel gaussian(uint32_t d, double mean, double sd) {
  return small_model(quadratic(std::vector<double>(d, mean), std::vector<double>(d, sd)),
                     std::make_shared<SmallNormal>(d, 0, 1.5));
}

TEST(DensityLogZ, TheMethodThatApplies) {
  EXPECT_EQ(judged_log_z(gaussian(2, 0, 1), {}).estimate.method, "quadrature");
  EXPECT_EQ(judged_log_z(gaussian(4, 0, 1), {}).estimate.method, "importance");
  const SmallEnergy spins = cycle(5, 2, 0.1, 0.2);
  EXPECT_EQ(
      judged_log_z(small_model(spins, std::make_shared<SmallUniform>(spins.support())), {}).estimate.method,
      "enumeration");
  const SmallEnergy many = cycle(30, 2, 0.1, 0.05);
  EXPECT_EQ(
      judged_log_z(small_model(many, std::make_shared<SmallUniform>(many.support())), {}).estimate.method,
      "importance");
}

TEST(DensityLogZ, EveryMethodAgreesWithTheClosedForm) {
  const DensityModel model = gaussian(3, 0.3, 0.8);
  const double truth = 3 * log_normal_volume(0.8);
  for (const char* method : {"quadrature", "importance", "annealed"}) {
    const JudgedLogZ z = judged_log_z(model, {.method = method, .samples = 40'000});
    EXPECT_EQ(z.estimate.method, method);
    EXPECT_NEAR(z.estimate.value, truth, 0.04) << method;
    EXPECT_EQ(z.distrust, "") << method;
  }
}

TEST(DensityLogZ, ClosedForms) {
  DensityModel fitted = gaussian(6, 0, 1);
  fitted.base = fitted.proposal;
  fitted.energy = std::make_unique<TiltedEnergy>(make_zero_energy(6), fitted.base);
  EXPECT_EQ(judged_log_z(fitted, {}).estimate.method, "closed-form");
  EXPECT_EQ(judged_log_z(fitted, {}).estimate.value, 0);
  DensityModel family = gaussian(4, 0, 1);
  EnergyPlan plan;
  plan.word = "gaussian";
  plan.dimension = 4;
  family.energy = make_energy(plan);
  const LogZEstimate z = judged_log_z(family, {}).estimate;
  EXPECT_EQ(z.method, "closed-form");
  EXPECT_NEAR(z.value, judged_log_z(family, {.method = "importance"}).estimate.value, 0.05);
}

// Ten dimensions far from the proposal: importance sampling is worth nothing, annealing is.
TEST(DensityLogZ, AnnealsWhereImportanceSamplingFails) {
  const DensityModel model = gaussian(8, 1, 0.4);
  const JudgedLogZ by_importance = judged_log_z(model, {.method = "importance", .samples = 10'000});
  EXPECT_NE(by_importance.distrust.find("effective samples"), std::string::npos);
  const JudgedLogZ z = judged_log_z(model, {.samples = 10'000});
  EXPECT_EQ(z.estimate.method, "annealed");
  EXPECT_EQ(z.distrust, "");
  EXPECT_NEAR(z.estimate.value, 8 * log_normal_volume(0.4), 0.15);
}

// A second mode that the proposal reaches rarely or never: many samples are effective, log Z is up to log 2
// too small, and the tail of the weights tells.
TEST(DensityLogZ, AModeThatTheProposalMissesIsNotTrusted) {
  for (const double distance : {4.0, 5.0, 6.0, 8.0}) {
    const DensityModel model =
        small_model(bumps(4, {{0, 0}, {distance / 2, 0}}), std::make_shared<SmallNormal>(4, 0, 1));
    for (uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_FALSE(
          judged_log_z(model, {.method = "importance", .samples = 20'000, .seed = seed}).distrust.empty())
          << distance << " " << seed;
  }
}

// Weights without a variance: N(0, 1) from a normal distribution of standard deviation 0.62 has k = 1 -
// 0.62^2.
TEST(DensityLogZ, AHeavyTailIsBridged) {
  const DensityModel model =
      small_model(quadratic({0, 0, 0, 0}, {1, 1, 1, 1}), std::make_shared<SmallNormal>(4, 0, 0.62));
  const JudgedLogZ by_importance = judged_log_z(model, {.method = "importance", .samples = 20'000});
  EXPECT_GT(by_importance.estimate.effective, 100);
  EXPECT_NE(by_importance.distrust.find("heavy tail"), std::string::npos);
  const JudgedLogZ z = judged_log_z(model, {.samples = 20'000});
  EXPECT_EQ(z.estimate.method, "bridge");
  EXPECT_EQ(z.distrust, "");
  EXPECT_NEAR(z.estimate.value, 4 * log_normal_volume(1), 0.1);
}

// (1 - share) N(0, I) + share N((1.3, 1.3), 0.002^2 I), which quadrature looks past.
class SpikedNormal final : public Density {
 public:
  explicit SpikedNormal(double share) : share_(share) {}

  uint32_t dimension() const override { return 2; }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override {
    for (size_t k = 0; k < rows.size(); k += 2)
      (random.uniform() < share_ ? spike_ : broad_).sample(random, rows.subspan(k, 2));
  }
  void log_prob(const Points& x, std::span<double> out) const override {
    std::vector<double> spike(out.size());
    spike_.log_prob(x, spike);
    broad_.log_prob(x, out);
    for (size_t i = 0; i < out.size(); ++i) {
      LogSumExp sum;
      sum.add(std::log(1 - share_) + out[i]);
      sum.add(std::log(share_) + spike[i]);
      out[i] = sum.value();
    }
  }
  void log_prob_gradient(const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("not asked for");
  }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("not asked for");
  }
  DensityRecord record() const override { return {"spiked", {}}; }

 private:
  double share_;
  SmallNormal broad_{2, 0, 1}, spike_{2, 1.3, 0.002};
};

TEST(DensityLogZ, DrawsThatContradictQuadrature) {
  const SmallEnergy energy(2, Support::reals(), [](std::span<const float> x, std::span<double>) {
    double s = 0;
    SpikedNormal(0.5).log_prob({x.data(), 1, 2}, {&s, 1});
    return s;
  });
  const JudgedLogZ z = judged_log_z(small_model(energy, std::make_shared<SpikedNormal>(0.2)), {});
  EXPECT_EQ(z.estimate.method, "quadrature");
  EXPECT_NEAR(z.estimate.value, std::log(0.5), 1e-3);
  EXPECT_NE(z.distrust.find("misses a part"), std::string::npos) << z.distrust;
}

// A proposal that does not cover the model has nothing to say against quadrature.
TEST(DensityLogZ, QuadratureWithoutDraws) {
  const DensityModel model =
      small_model(quadratic({0, 0}, {1, 1}), std::make_shared<SmallUniform>(Support::box({-2, -2}, {2, 2})));
  const JudgedLogZ z = judged_log_z(model, {});
  EXPECT_EQ(z.distrust, "");
  EXPECT_NEAR(z.estimate.value, 2 * log_normal_volume(1), 1e-3);
}

// In 12 dimensions hardly a draw is in the box: not enough to anneal from, and few effective ones.
TEST(DensityLogZ, HardlyAPossibleDraw) {
  const DensityModel model =
      small_model(quadratic(std::vector<double>(12, 0), std::vector<double>(12, 1), 0,
                            Support::box(std::vector<double>(12, 0), std::vector<double>(12, 9))),
                  std::make_shared<SmallNormal>(12, 0, 1));
  const JudgedLogZ z = judged_log_z(model, {.samples = 20'000});
  EXPECT_NE(z.distrust.find("draws of the proposal are possible"), std::string::npos) << z.distrust;
}

// s = 0 over R^2 has no integral.
TEST(DensityLogZ, NoIntegralIsNotTrusted) {
  const SmallEnergy flat(2, Support::reals(), [](std::span<const float>, std::span<double> gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    return 0.0;
  });
  const DensityModel model = small_model(flat, std::make_shared<SmallNormal>(2, 0, 1));
  EXPECT_FALSE(judged_log_z(model, {.samples = 1000}).distrust.empty());
  EXPECT_THROW(judged_log_z(model, {.method = "quadrature"}), Error);
}

// A stack is slow to evaluate: more draws take the place of quadrature where their interval is wide.
TEST(DensityLogZ, ASlowProposalIsDrawnFromMore) {
  const auto stack = std::make_shared<Stacked>(
      std::vector<std::shared_ptr<const Density>>{std::make_shared<SmallNormal>(2, 0, 2)},
      std::vector<double>{1});
  std::vector<std::string> said;
  const JudgedLogZ z = judged_log_z(small_model(quadratic({0, 0}, {1, 1}), stack),
                                    {.say = [&](const std::string& text) { said.push_back(text); }});
  EXPECT_EQ(z.distrust, "");
  EXPECT_EQ(z.estimate.method, "importance");
  EXPECT_GT(z.estimate.evaluations, 100'000u);
  EXPECT_LE(z.estimate.evaluations, 1'000'000u);
  EXPECT_LT(z.estimate.high - z.estimate.low, 7e-3);
  EXPECT_NEAR(z.estimate.value, 2 * log_normal_volume(1), 7e-3);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[1].find("more draws"), std::string::npos) << said[1];
}

// A uniform distribution that says it reads so many numbers.
class LongUniform final : public Density {
 public:
  LongUniform(Support box, size_t numbers) : inner_(std::move(box)), numbers_(numbers) {}

  uint32_t dimension() const override { return inner_.dimension(); }
  Support support() const override { return inner_.support(); }
  void sample(RandomStream& random, std::span<float> rows) const override { inner_.sample(random, rows); }
  void log_prob(const Points& x, std::span<double> out) const override { inner_.log_prob(x, out); }
  DensityRecord record() const override {
    return {"long", {{"numbers", std::vector<double>(numbers_, 0.0)}}};
  }

 private:
  SmallUniform inner_;
  size_t numbers_;
};

TEST(DensityLogZ, WhatQuadratureTakesIsBoundedByTheSizeOfTheModel) {
  const Support box = Support::box({0, 0}, {1, 1});
  const SmallEnergy wall(2, box, [](std::span<const float> x, std::span<double>) {
    return std::hypot(static_cast<double>(x[0]), static_cast<double>(x[1])) < 0.7 ? 3.0 : 0.0;
  });
  const auto evaluations = [&](size_t numbers) {
    const auto stack = std::make_shared<Stacked>(
        std::vector<std::shared_ptr<const Density>>{std::make_shared<LongUniform>(box, numbers)},
        std::vector<double>{1});
    const DensityModel model = small_model(wall, stack);
    EXPECT_GE(evaluation_cost(model), static_cast<double>(numbers));
    const JudgedLogZ z = judged_log_z(model, {.least_effective = 1e9, .precision = 1e-5});
    EXPECT_EQ(z.estimate.method, "quadrature");
    const double truth = std::log(1 + std::expm1(3) * M_PI * 0.49 / 4);
    EXPECT_LE(z.estimate.low, truth);
    EXPECT_GE(z.estimate.high, truth);
    return z.estimate.evaluations;
  };
  EXPECT_GT(evaluations(1), 200'000u);
  EXPECT_LE(evaluations(1'000'000), 100'000u);
}

TEST(DensityLogZ, ImpossibleOptions) {
  const DensityModel model = gaussian(2, 0, 1);
  EXPECT_THROW(judged_log_z(model, {.method = "guess"}), Error);
  EXPECT_THROW(judged_log_z(model, {.samples = 1}), Error);
  EXPECT_THROW(judged_log_z(model, {.method = "enumeration"}), Error);
  EXPECT_THROW(judged_log_z(gaussian(4, 0, 1), {.method = "quadrature"}), Error);
  EXPECT_THROW(judged_log_z(model, {.precision = 0}), Error);
}

}  // namespace
}  // namespace selfnorm
