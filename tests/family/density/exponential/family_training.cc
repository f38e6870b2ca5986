#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "family/density/exponential/exponential_fit.h"
#include "family/density/train/density_trainer.h"
#include "math/random.h"
#include "model/energy/exponential_family.h"
#include "normalizer/point_enumeration.h"
#include "normalizer/quadrature/quadrature.h"
#include "proposal/direction/direction_mixture.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kDigits = 1e-4;

class EpochListener : public TrainObserver {
 public:
  void on_progress(const Progress& p) override { progress.push_back(p); }
  void on_warning(const std::string& text) override { warnings += text + "\n"; }

  std::vector<Progress> progress;
  std::string warnings;
};

DensityOptions family_options(const std::string& energy) {
  DensityOptions out;
  out.energy = energy;
  out.proposal = "auto";
  return out;
}

DensityResult trained(const DensityOptions& options, uint32_t columns, const std::vector<float>& x,
                      TrainObserver& observer) {
  const auto data = make_point_source(columns, x);
  return train_density(*data, numbers(0, data->rows()), {}, options, {}, observer);
}

const ExponentialFamily& family_of(const DensityResult& result) {
  return dynamic_cast<const ExponentialFamily&>(*result.model.energy);
}

std::vector<double> means_of(const DensityResult& result, std::vector<float> x) {
  const ExponentialFamily& family = family_of(result);
  const Points points{x.data(), x.size() / family.dimension(), family.dimension()};
  if (!result.model.standardisation.mean.empty()) result.model.standardisation.apply(points, x);
  FamilyMean mean(family);
  mean.add(points);
  return mean.means().t;
}

// The maximum of the likelihood: E T = mean T; b = log Z. Both by closed form.
void expect_maximum(const DensityResult& result, const std::vector<float>& x) {
  const ExponentialFamily& family = family_of(result);
  const std::vector<double> mean = means_of(result, x);
  const auto expected = family.mean(family.eta());
  ASSERT_TRUE(expected);
  for (size_t k = 0; k < mean.size(); ++k)
    EXPECT_NEAR((*expected)[k], mean[k], kDigits * std::max(1.0, std::abs(mean[k]))) << "statistic " << k;
  EXPECT_NEAR(result.model.log_normalizer, *family.log_z(family.eta()), 1e-9);
  EXPECT_EQ(result.model.log_normalizer, result.learned_normalizer);
  EXPECT_EQ(result.model.normalizer_kind, "learned");
}

std::vector<float> gammas(size_t count, int shape, double scale, uint64_t seed = 5) {
  RandomStream random(seed);
  std::vector<float> out(count);
  for (float& x : out) {
    double sum = 0;
    for (int i = 0; i < shape; ++i) sum -= std::log(1 - random.uniform());
    x = static_cast<float>(scale * sum + 1e-6);
  }
  return out;
}

std::vector<float> poissons(size_t count, uint64_t seed = 6) {
  RandomStream random(seed);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    for (double p = random.uniform(); p > std::exp(-1.0 - 2.0 * static_cast<double>(i % 3));
         p *= random.uniform())
      ++out[i];
  return out;
}

std::vector<float> bits(uint32_t dimension, size_t rows) {
  RandomStream random(3);
  std::vector<float> out;
  for (size_t i = 0; i < rows; ++i) {
    float last = random.uniform() < 0.4 ? 1 : 0;
    for (uint32_t j = 0; j < dimension; ++j) {
      if (random.uniform() < 0.35) last = 1 - last;
      out.push_back(last);
    }
  }
  return out;
}

TEST(FamilyTraining, ClosedFormsAreTheMaximumOfTheLikelihood) {
  std::vector<float> plane = random_vector<float>(600, 2);
  for (size_t i = 0; i < plane.size(); i += 3) {
    plane[i + 1] = 1000 + 3 * plane[i + 1] + 2 * plane[i];
    plane[i + 2] = 0.01f * plane[i + 2];
  }
  std::vector<float> angles = random_vector<float>(400, 9);
  for (size_t i = 0; i < angles.size(); ++i)
    angles[i] = std::clamp((i % 2 ? 0.02f : 1) * angles[i] + 0.5f, -3.0f, 3.0f);
  std::vector<float> narrow = random_vector<float>(300, 10);
  for (float& v : narrow) v = 100 + 0.3f * v;
  struct Case {
    const char* word;
    uint32_t columns;
    std::vector<float> x;
  };
  const std::vector<Case> cases{{"gaussian", 1, random_vector<float>(200, 1)},
                                {"gaussian", 3, plane},
                                {"exponential", 1, gammas(200, 1, 3)},
                                {"exponential", 3, gammas(300, 1, 1e-3)},
                                {"gamma", 1, gammas(200, 2, 1)},
                                {"gamma", 2, gammas(400, 1, 1e4)},
                                {"gamma", 1, narrow},
                                {"gamma", 1, {1.0f, 1.1f, 1.3f}},
                                {"von-mises", 1, angles},
                                {"von-mises", 2, angles},
                                {"poisson", 1, poissons(300)},
                                {"poisson", 3, poissons(600)},
                                {"bernoulli", 4, bits(4, 200)}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.word) + " " + std::to_string(c.columns));
    EpochListener observer;
    const DensityResult result = trained(family_options(c.word), c.columns, c.x, observer);
    expect_maximum(result, c.x);
    EXPECT_EQ(observer.warnings, "");
    EXPECT_EQ(observer.progress.size(), 1u);
    EXPECT_EQ(nlohmann::json::parse(result.model.training_json)["optimiser"],
              result.optimiser.empty() ? "closed-form" : "newton");
  }
}

TEST(FamilyTraining, ParametersInClosedForm) {
  EpochListener observer;
  const std::vector<float> x = gammas(300, 1, 2);
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 300;
  EXPECT_NEAR(family_of(trained(family_options("exponential"), 1, x, observer)).eta()[0], -1 / mean, kDigits);
  const std::vector<float> counts{0, 1, 4, 2, 2, 3, 7, 1};
  const DensityResult poisson = trained(family_options("poisson"), 1, counts, observer);
  EXPECT_NEAR(family_of(poisson).eta()[0], std::log(2.5), kDigits);
  EXPECT_NEAR(poisson.model.log_normalizer, 2.5, kDigits);
  EXPECT_EQ(poisson.model.proposal->record().kind, "counts");
  // Per row: 2.5 - 2.5 log 2.5 + mean of log x!.
  double log_factorials = 0;
  for (const float k : counts) log_factorials += std::lgamma(static_cast<double>(k) + 1) / 8;
  EXPECT_NEAR(*poisson.last.nll_estimate, 2.5 - 2.5 * std::log(2.5) + log_factorials, 1e-6);
}

// Draws of a von Mises-Fisher distribution of concentration 7, as longitude and z; of two angles that turn
// together.
TEST(FamilyTraining, FamiliesOfTheSphereAndTheTorus) {
  std::vector<float> sphere(2 * 4000), torus;
  sample_density(DirectionMixture(DirectionMap::sphere(), {0}, {3, -2, 6}), 4, sphere, {});
  DensityOptions options = family_options("von-mises-fisher");
  options.geometry.sphere = PointGeometry::Sphere::radians;
  EpochListener listener;
  const DensityResult fisher = trained(options, 2, sphere, listener);
  expect_maximum(fisher, sphere);
  const double truth[] = {3, -2, 6};
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(family_of(fisher).eta()[k], truth[k], 0.4);
  // More statistics, no less likely; the truth has none of them.
  options.energy = "fisher-bingham";
  const DensityResult bingham = trained(options, 2, sphere, listener);
  EXPECT_LT(bingham.last.loss, fisher.last.loss + 1e-6);
  EXPECT_GT(bingham.last.loss, fisher.last.loss - 0.005);
  EXPECT_NEAR(bingham.model.log_normalizer, quadrature_log_z(*bingham.model.energy).value, 2e-3);

  RandomStream random(8);
  for (int i = 0; i < 4000; ++i) {
    const double x = von_mises_draw(random, 0, 0.5);
    torus.push_back(static_cast<float>(x));
    torus.push_back(static_cast<float>(von_mises_draw(random, x, 4)));
  }
  options = family_options("bivariate-von-mises");
  options.geometry.period = {2 * M_PI, 2 * M_PI};
  const DensityResult coupled = trained(options, 2, torus, listener);
  const std::vector<double> eta = family_of(coupled).eta();  // 4 cos(x - y) is 4 cc + 4 ss
  EXPECT_NEAR(eta[4], 4, 0.6);
  EXPECT_NEAR(eta[7], 4, 0.6);
  EXPECT_NEAR(coupled.model.log_normalizer, quadrature_log_z(*coupled.model.energy).value, 1e-4);
}

TEST(FamilyTraining, IsingByAllPoints) {
  const std::vector<float> x = bits(8, 1000);
  EpochListener observer;
  const DensityResult result = trained(family_options("ising"), 8, x, observer);
  const ExponentialFamily& family = family_of(result);
  const std::vector<double> mean = means_of(result, x);
  const auto expected =
      enumerate_mean(family, family.count(), [&](auto at, auto t) { family.statistics(at, t); });
  for (size_t k = 0; k < mean.size(); ++k) EXPECT_NEAR(expected[k], mean[k], kDigits);
  EXPECT_NEAR(result.model.log_normalizer, enumerate_log_z(family).value, 1e-9);
  EXPECT_EQ(result.optimiser, "newton");
  EXPECT_GT(result.last.step, 1u);
  EXPECT_LT(result.last.gradient_norm, 1e-7);
}

// d log Z / d eta_k = mean T_k, by differences of quadratures.
TEST(FamilyTraining, BoxesAndAnyStatisticsByQuadrature) {
  std::vector<float> inside = random_vector<float>(300, 7);
  for (float& v : inside) v = std::clamp(v, -0.9f, 1.9f);
  std::vector<float> plane = random_vector<float>(400, 8);
  for (size_t i = 0; i < plane.size(); i += 2) {
    plane[i] = std::clamp(plane[i], -1.0f, 1.0f);
    plane[i + 1] = std::clamp(0.5f * plane[i + 1] + 0.5f * plane[i], 0.0f, 2.0f);
  }
  std::vector<float> wide = random_vector<float>(300, 9);
  for (float& v : wide) v = 300 * v + 100;
  struct Case {
    const char* word;
    std::vector<double> lower, upper;
    std::vector<float> x;
    double unit;
  };
  const std::vector<Case> cases{{"truncated-gaussian", {-1}, {2}, inside, 1},
                                {"truncated-gaussian", {-1}, {1000}, inside, 1},
                                {"truncated-gaussian", {-1.5, -0.5}, {1.5, 2.5}, plane, 1},
                                {"family:x,x2,x4", {}, {}, random_vector<float>(300, 3), 1},
                                {"family:x,x4", {}, {}, wide, 300},
                                {"family:abs,x", {}, {}, random_vector<float>(300, 3), 1},
                                {"family:x,x2", {2}, {INFINITY}, {3.0f, 3.1f, 3.3f, 3.2f}, 1},
                                {"family:log,x2", {0}, {INFINITY}, gammas(300, 2, 1), 1}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.word);
    DensityOptions options = family_options(c.word);
    options.lower = c.lower;
    options.upper = c.upper;
    EpochListener observer;
    const uint32_t d = c.lower.size() == 2 ? 2 : 1;
    const DensityResult result = trained(options, d, c.x, observer);
    EXPECT_EQ(observer.warnings, "");
    ExponentialFamily family({c.word, d, c.lower, c.upper});
    family.set_eta(family_of(result).eta());
    const QuadratureOptions precise{.scale = std::vector<double>(d, c.unit), .precision = 3e-7};
    EXPECT_NEAR(result.model.log_normalizer, quadrature_log_z(family, precise).value, 1e-5);
    const std::vector<double> mean = means_of(result, c.x);
    for (size_t k = 0; k < family.count(); ++k) {
      const double size = std::max(1.0, std::abs(mean[k]));
      const auto log_z = [&](double by) {
        std::vector<double> eta = family_of(result).eta();
        eta[k] += by / size;
        family.set_eta(eta);
        return std::pair(quadrature_log_z(family, precise).value, family.eta()[k]);
      };
      const auto [above, x1] = log_z(3e-3);
      const auto [below, x0] = log_z(-3e-3);
      EXPECT_NEAR((above - below) / (x1 - x0), mean[k], 1e-3 * size) << "statistic " << k;
    }
  }
}

TEST(FamilyTraining, SameBitsForAnyThreadsAndHeldOutRows) {
  const auto data = make_point_source(8, bits(8, 500));
  DensityOptions options = family_options("ising");
  const auto run = [&](int threads) {
    options.threads = threads;
    TrainObserver observer;
    return train_density(*data, numbers(0, 400), numbers(400, 500), options, {}, observer);
  };
  const DensityResult one = run(1), four = run(4);
  EXPECT_EQ(family_of(one).eta(), family_of(four).eta());
  EXPECT_EQ(one.model.log_normalizer, four.model.log_normalizer);
  ASSERT_TRUE(one.last.valid_nll_estimate);
  EXPECT_EQ(*one.last.valid_nll_estimate, *four.last.valid_nll_estimate);
  EXPECT_NEAR(*one.last.valid_nll_estimate, *one.last.nll_estimate, 0.5);
}

std::string complaint(const DensityOptions& options, uint32_t columns, const std::vector<float>& x) {
  TrainObserver observer;
  try {
    trained(options, columns, x, observer);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(FamilyTraining, DataOutsideTheSupportAreErrors) {
  const auto says = [](const std::string& text, const DensityOptions& options, const std::vector<float>& x) {
    const std::string found = complaint(options, 1, x);
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  says("row 2 is (-1), outside the support of exponential", family_options("exponential"), {1, 2, -1, 3});
  says("row 1 is (0), where gamma has no likelihood", family_options("gamma"), {1, 0, 2});
  says("row 1 is (4), outside the support of von-mises", family_options("von-mises"), {1, 4});
  says("energy poisson needs whole numbers", family_options("poisson"), {1, 2.5f});
  says("energy poisson needs whole numbers", family_options("poisson"), {1, -2});
  says("energy bernoulli needs the values 0 and 1", family_options("bernoulli"), {1, 2});
  DensityOptions box = family_options("truncated-gaussian");
  box.lower = {0};
  box.upper = {1};
  says("row 0 is (2), outside the support of truncated-gaussian: expected values in [0, 1]", box, {2, 0.5f});
  DensityOptions real = family_options("poisson");
  real.space = "real";
  says("expected space counts", real, {1, 2});
}

TEST(FamilyTraining, ColumnsThatDoNotVaryAreSaid) {
  EpochListener observer;
  const DensityResult counts = trained(family_options("poisson"), 2, {0, 3, 0, 4, 0, 1}, observer);
  EXPECT_NE(observer.warnings.find("no maximum"), std::string::npos);
  EXPECT_TRUE(std::isfinite(counts.model.log_normalizer));
  const DensityResult normal = trained(family_options("gaussian"), 2, {1, 5, 2, 5, 4, 5}, observer);
  EXPECT_TRUE(std::isfinite(normal.model.log_normalizer));
  EXPECT_TRUE(std::isfinite(*normal.last.nll_estimate));
}

TEST(FamilyTraining, WholeNumbersCanBeRealNumbers) {
  EpochListener observer;
  const std::vector<float> x{0, 1, 1, 0, 1};  // binary unless the energy says otherwise
  const DensityResult result = trained(family_options("gaussian"), 1, x, observer);
  expect_maximum(result, x);
  EXPECT_EQ(result.model.proposal->record().kind, "mixture");
}

TEST(FamilyTraining, OthersAreTrainedByMinibatches) {
  EXPECT_TRUE(fits_family(family_options("gaussian"), 30));
  EXPECT_TRUE(fits_family(family_options("gamma"), 30));
  EXPECT_TRUE(fits_family(family_options("ising"), 18));
  EXPECT_FALSE(fits_family(family_options("ising"), 19));
  EXPECT_FALSE(fits_family(family_options("mlp:8"), 1));
  EXPECT_FALSE(fits_family(family_options("rbm:8"), 4));
  EXPECT_FALSE(fits_family(family_options("auto"), 1));
  DensityOptions box = family_options("truncated-gaussian");
  box.lower.assign(5, 0);
  box.upper.assign(5, 1);
  EXPECT_FALSE(fits_family(box, 5));
  const auto other = [](auto change) {
    DensityOptions options = family_options("gaussian");
    change(options);
    return fits_family(options, 1);
  };
  EXPECT_FALSE(other([](DensityOptions& o) { o.objective = "nce"; }));
  EXPECT_FALSE(other([](DensityOptions& o) { o.normalizer = "zero"; }));
  EXPECT_FALSE(other([](DensityOptions& o) { o.optimiser = "adam"; }));
  EXPECT_FALSE(other([](DensityOptions& o) { o.learn_proposal = "data"; }));
  EXPECT_FALSE(other([](DensityOptions& o) { o.base = "proposal"; }));
  EXPECT_FALSE(other([](DensityOptions& o) { o.weight_decay = 0.1; }));
}

// Where no nodes are good enough: equal values have no gamma distribution.
TEST(FamilyTraining, WhatNoNodesSettleGoesToMinibatches) {
  DensityOptions options = family_options("gamma");
  options.steps = 5;
  options.normalizer_steps = 5;
  EpochListener observer;
  const DensityResult result = trained(options, 1, std::vector<float>(50, 2.0f), observer);
  EXPECT_NE(observer.warnings.find("minibatches instead"), std::string::npos) << observer.warnings;
  EXPECT_EQ(result.optimiser, "adam");
}

// Counts whose proposal reaches beyond the largest one seen.
TEST(FamilyTraining, CountsByMinibatchesAgree) {
  DensityOptions options = family_options("poisson");
  options.optimiser = "adam";
  options.steps = 400;
  options.learning_rate = 0.02;
  EpochListener observer;
  const std::vector<float> counts{0, 1, 4, 2, 2, 3, 7, 1};
  const DensityResult result = trained(options, 1, counts, observer);
  EXPECT_NEAR(family_of(result).eta()[0], std::log(2.5), 0.05);
  EXPECT_NEAR(result.model.log_normalizer, *family_of(result).log_z(family_of(result).eta()), 0.02);
}

}  // namespace
}  // namespace selfnorm
