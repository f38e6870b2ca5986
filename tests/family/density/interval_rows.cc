#include "family/density/interval_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "family/density/density_evaluation.h"
#include "family/density/train/density_normalizer.h"
#include "family/density/train/density_trainer.h"
#include "proposal/density/elliptical.h"
#include "proposal/density/gaussian_mixture.h"
#include "proposal/density/products.h"
#include "small_models.h"

namespace selfnorm {
namespace {

double phi(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// log of (the density of z_1, z_2 ~ N(0, 1) of this correlation at z_1) times P(low <= z_2 <= high | z_1).
double slice_mass(double z, double correlation, double low, double high) {
  const double sd = std::sqrt(1 - correlation * correlation), mean = correlation * z;
  return -z * z / 2 - log_normal_volume(1) + std::log(phi((high - mean) / sd) - phi((low - mean) / sd));
}

std::shared_ptr<const Density> correlated(double r) {
  return std::make_shared<Gaussian>(std::vector<double>{0, 0},
                                    PrecisionRoot::of_covariance(2, std::vector<double>{1, r, r, 1}));
}

PointScores scores_of(const Density& q) {
  return [&q](const Points& x, std::span<double> s) { density_log_prob(q, x, s); };
}

std::vector<uint64_t> numbered(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

TEST(IntervalMeasure, OfOneCoordinateIsTheGaussianMass) {
  const double r = 0.95;
  const auto q = correlated(r);
  const IntervalMeasure measure(*q, Support::reals(), 3);
  std::vector<IntervalRow> rows;
  std::vector<double> truth;
  for (const double z : {-2.0, 0.3, 4.0})
    for (const auto& [low, high] : {std::pair{-1.0, 0.5}, {2.0, 2.001}, {-HUGE_VAL, -0.7}, {1.5, HUGE_VAL}}) {
      rows.push_back({{static_cast<float>(z), static_cast<float>(std::isinf(low) ? high : low)},
                      {{1, static_cast<float>(low), static_cast<float>(high)}}});
      const double from = static_cast<double>(static_cast<float>(low)),
                   to = static_cast<double>(static_cast<float>(high));
      const double sd = std::sqrt(1 - r * r), mean = r * static_cast<double>(static_cast<float>(z));
      // Where both tails are above, their difference is that of the complements.
      truth.push_back(from > mean ? slice_mass(-static_cast<double>(static_cast<float>(z)), r, -to, -from)
                                  : slice_mass(static_cast<double>(static_cast<float>(z)), r, from, to));
      ASSERT_GT(sd, 0);
    }
  const auto found = measure.masses(rows, scores_of(*q));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(found[i].log_mass, truth[i], 1e-4 + 2 * found[i].error) << i;
    EXPECT_LT(found[i].error, 1e-3);
  }
}

TEST(IntervalMeasure, OfSeveralCoordinatesIsKnownToItsError) {
  // Both of two: the integral of the slices. Independent ones too, whose mass is a product.
  for (const double r : {0.0, 0.8}) {
    const auto q = correlated(r);
    const IntervalMeasure measure(*q, Support::reals(), 3);
    const std::vector<IntervalRow> rows{{{0, 0}, {{0, -0.5f, 1}, {1, 0.25f, HUGE_VALF}}}};
    double mass = 0;
    for (int i = 0; i < 15'000; ++i) {
      const double z = -0.5 + 1e-4 * (i + 0.5);
      mass += 1e-4 * std::exp(slice_mass(z, r, 0.25, HUGE_VAL));
    }
    const IntervalMass found = measure.masses(rows, scores_of(*q))[0];
    EXPECT_LT(found.error, 0.05);
    EXPECT_NEAR(found.log_mass, std::log(mass), 2 * found.error) << r;
  }
}

TEST(IntervalMeasure, OfAMixtureIsTheSumOfItsParts) {
  const GaussianMixture q({{std::log(0.3), std::log(0.7)},
                           {-3, 2},
                           {PrecisionRoot(PrecisionRoot::Shape::full, 1, {2}),
                            PrecisionRoot(PrecisionRoot::Shape::full, 1, {1})}},
                          0);
  const IntervalMeasure measure(q, Support::reals(), 1);
  const std::vector<IntervalRow> rows{{{0}, {{0, -3.2f, 2.5f}}}, {{0}, {{0, 7, HUGE_VALF}}}};
  const auto found = measure.masses(rows, scores_of(q));
  const auto mass = [](double low, double high) {
    return 0.3 * (phi((high + 3) * 2) - phi((low + 3) * 2)) + 0.7 * (phi(high - 2) - phi(low - 2));
  };
  EXPECT_NEAR(found[0].log_mass, std::log(mass(static_cast<double>(-3.2f), 2.5)), 1e-4);
  EXPECT_NEAR(found[1].log_mass, std::log(0.7 * phi(-5)), 1e-4);
}

TEST(IntervalMeasure, EndsWhereTheSupportEnds) {
  const Support box = Support::box({0, -10}, {1, 10});
  const auto flat = [](const Points&, std::span<double> s) { std::ranges::fill(s, 0.0); };
  const SmallNormal q(2, 0, 1);
  const IntervalMeasure measure(q, box, 1);
  const std::vector<IntervalRow> rows{
      {{0.5f, 0}, {{0, 0.75f, 3}}}, {{2, 0}, {{0, 1.5f, 3}}}, {{0.5f, 11}, {{0, 0, 1}}}};
  const auto found = measure.masses(rows, flat);
  EXPECT_NEAR(found[0].log_mass, std::log(0.25), 1e-4);
  EXPECT_EQ(found[1].log_mass, -HUGE_VAL);
  EXPECT_EQ(found[2].log_mass, -HUGE_VAL);
}

// x_1, x_2 of Student's distribution with two degrees of freedom: at the same radius x ~ N(0, 2 / v), v ~
// chi-squared with two degrees, P(x_1 > a, x_2 > a) = E P(z > a sqrt(v / 2))^2 with v / 2 ~ exponential.
double student_corner(double a) {
  double mass = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const double u = 5e-7 * (i + 0.5), w = u * u * u;  // fine where w is small
    const double half = -std::log1p(-w);
    const double z = phi(-a * std::sqrt(half));
    mass += 5e-7 * 3 * u * u * z * z;
  }
  return mass;
}

// Heavier tails than those of normal draws, whose weights would have no variance; the whole plane but a
// corner is no more than all.
TEST(IntervalMeasure, OfSeveralCoordinatesHasHeavyTails) {
  const StudentT q(2, {0, 0}, PrecisionRoot::of_covariance(2, std::vector<double>{1, 0, 0, 1}));
  std::vector<IntervalRow> rows;
  std::vector<double> truth;
  for (const float a : {2.0f, 10.0f, 40.0f}) {
    rows.push_back({{a, a}, {{0, a, HUGE_VALF}, {1, a, HUGE_VALF}}});
    truth.push_back(std::log(student_corner(static_cast<double>(a))));
  }
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const auto found = IntervalMeasure(q, Support::reals(), seed).masses(rows, scores_of(q));
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LT(found[i].error, 0.15) << i;
      EXPECT_NEAR(found[i].log_mass, truth[i], 2 * found[i].error) << i;
    }
  }
}

// Two clusters, which one normal distribution around both hardly meets: every interval has one of them, or
// both.
TEST(IntervalMeasure, OfSeveralCoordinatesMeetsModes) {
  const double c = 5;
  const auto root = PrecisionRoot(PrecisionRoot::Shape::full, 2, {10, 0, 10});
  const GaussianMixture q({{std::log(0.5), std::log(0.5)}, {c, c, -c, -c}, {root, root}}, 0);
  const std::vector<IntervalRow> rows{{{0, 0}, {{0, -HUGE_VALF, 100}, {1, -HUGE_VALF, 100}}},
                                      {{1, 1}, {{0, 0, HUGE_VALF}, {1, 0, HUGE_VALF}}}};
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const auto found = IntervalMeasure(q, Support::reals(), seed).masses(rows, scores_of(q));
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LT(found[i].error, 0.15) << i;
      EXPECT_NEAR(found[i].log_mass, i == 0 ? 0 : std::log(0.5), 2 * found[i].error) << i;
    }
  }
}

TEST(IntervalMeasure, WeightsWithoutVarianceAreDoubted) {
  const auto q = correlated(0);
  const std::vector<IntervalRow> rows{{{0, 0}, {{0, 0, HUGE_VALF}, {1, 0, HUGE_VALF}}}};
  const IntervalMeasure measure(*q, Support::reals(), 1);
  EXPECT_FALSE(measure.masses(rows, scores_of(*q))[0].is_doubtful);
  // Tails of 1 / x^1.2, against 1 / x^3 of the draws.
  const auto heavy = [](const Points& x, std::span<double> s) {
    for (uint64_t i = 0; i < x.rows; ++i)
      s[i] = -1.2 *
             (std::log1p(static_cast<double>(x.row(i)[0])) + std::log1p(static_cast<double>(x.row(i)[1])));
  };
  EXPECT_TRUE(measure.masses(rows, heavy)[0].is_doubtful);
}

TEST(IntervalMeasure, IsThatOfTheRowWhereverItStands) {
  const auto q = correlated(0.5);
  const IntervalMeasure measure(*q, Support::reals(), 3);
  const IntervalRow row{{0, 0}, {{0, -0.5f, 1}, {1, 0.25f, HUGE_VALF}}};
  const IntervalRow other{{0, 0}, {{0, -0.5f, 2}, {1, 0.25f, HUGE_VALF}}};
  const std::vector<IntervalRow> rows{row, other, row};
  const auto found = measure.masses(rows, scores_of(*q));
  EXPECT_EQ(found[0].log_mass, found[2].log_mass);
  EXPECT_EQ(found[0].log_mass, measure.masses({&row, 1}, scores_of(*q))[0].log_mass);
  EXPECT_EQ(found[1].log_mass, measure.masses({&other, 1}, scores_of(*q))[0].log_mass);
}

// The distribution function of draws is uniform: the least and largest distance of 400 is that of their
// steps.
TEST(IntervalMeasure, DrawsFollowTheConditionalDistribution) {
  const auto q = correlated(0.6);
  const IntervalMeasure measure(*q, Support::reals(), 2);
  const std::vector<IntervalRow> rows{{{1, 0}, {{1, -0.5f, 2}}}};
  const IntervalDraws drawn = measure.draws(rows, 400, scores_of(*q));
  const double low = phi((-0.5 - 0.6) / 0.8), high = phi((2 - 0.6) / 0.8);
  for (size_t m = 0; m < 400; ++m) {
    EXPECT_EQ(drawn.rows[2 * m], 1);
    const double u = (phi((static_cast<double>(drawn.rows[2 * m + 1]) - 0.6) / 0.8) - low) / (high - low);
    EXPECT_NEAR(u, (static_cast<double>(m) + 0.5) / 400, 0.01);
  }
  // Of two coordinates: their means, by the same integral as above.
  const std::vector<IntervalRow> both{{{0, 0}, {{0, 0, HUGE_VALF}, {1, 0, HUGE_VALF}}}};
  const IntervalDraws pairs = measure.draws(both, 2000, scores_of(*q));
  double mean = 0, mass = 0, weighed = 0;
  for (size_t m = 0; m < 2000; ++m) mean += static_cast<double>(pairs.rows[2 * m]) / 2000;
  for (int i = 0; i < 60'000; ++i) {
    const double z = 1e-4 * (i + 0.5), p = std::exp(slice_mass(z, 0.6, 0, HUGE_VAL));
    mass += p;
    weighed += z * p;
  }
  EXPECT_NEAR(mean, weighed / mass, 0.06);  // 2,000 of 4,096 draws: five standard errors
}

// x ~ N(0, 1) in standardised units: a censored column has no unit, the others keep theirs.
TEST(IntervalRows, AreJudgedInTheUnitsOfTheData) {
  DensityModel model = small_model(quadratic({0, 0}, {1, 1}), std::make_shared<SmallNormal>(2, 0, 1.2),
                                   2 * log_normal_volume(1));
  model.standardisation = {{10, -3}, {4, 0.5}};
  const auto data = make_point_source(2, {12, -3, 12, -3, 12, -3}, {}, {}, {},
                                      {{1, {{1, -3.5f, HUGE_VALF}}}, {2, {{0, 10, 14}, {1, -3, -2.5f}}}});
  const double x = -0.125 - log_normal_volume(4);
  const std::vector<double> truth{x - log_normal_volume(0.5), x + std::log(phi(1)),
                                  2 * std::log(phi(1) - 0.5)};
  const RowScores found = DensityScorer(model, *data).all();
  EXPECT_EQ(found.intervals, 2u);
  EXPECT_NEAR(found.log_p[0], truth[0], 1e-5);
  EXPECT_NEAR(found.log_p[1], truth[1], 1e-4);
  EXPECT_NEAR(found.log_p[2], truth[2], 5 * found.largest_error);
  const DensityEvaluation e = evaluate_density(model, *data, {});
  EXPECT_EQ(e.intervals, 2u);
  EXPECT_NEAR(e.nll, -(truth[0] + truth[1] + truth[2]) / 3, 2e-3 + 2 * e.interval_error);
  EXPECT_LT(e.nll_low, e.nll - e.interval_error / 2);
}

// With a log Z that is too small by 0.1 a row of which nothing is known but the sides has no mass above 1.
TEST(IntervalRows, AllOfARowIsAProbability) {
  const DensityModel model = small_model(quadratic({0, 0}, {1, 1}), std::make_shared<SmallNormal>(2, 0, 1.2),
                                         2 * log_normal_volume(1) - 0.1);
  const auto data = make_point_source(2, {0, 0, 0, 0}, {}, {}, {},
                                      {{0, {{0, -9, 9}, {1, -9, 9}}}, {1, {{0, 0, 9}, {1, 0, 9}}}});
  const std::vector<double> found = DensityScorer(model, *data).all().log_p;
  EXPECT_EQ(found[0], 0);
  EXPECT_NEAR(found[1], std::log(0.25) + 0.1, 0.05);
}

// Of a proposal in a box, rows whose intervals are beyond it.
TEST(IntervalRows, WithoutMassAreToldFromNumbers) {
  const auto data = make_point_source(1, {0, 2, 1}, {}, {}, {}, {{1, {{0, 1, 3}}}, {2, {{0, 60, 70}}}});
  const std::vector<uint64_t> rows{0, 1, 2};
  DensityOptions options;
  options.objective = "fit";
  options.proposal = "gaussian";
  options.lower = {-1};
  options.upper = {1};
  const auto cut = make_point_source(1, {0, 0.5f, -0.5f, 0.25f, 1}, {"a"}, {}, {}, {{4, {{0, 1, 3}}}});
  TrainObserver observer;
  try {
    train_density(*cut, numbered(0, 5), {}, options, CheckpointOptions(), observer);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("row 4 (from 0) has the interval 1..3 in column 'a', nothing of which is below"),
              std::string::npos)
        << error.what();
  }
  // What is no row of training is left out of the checks.
  options.proposal = "uniform";
  options.objective = "snl";
  options.energy = "mlp:4";
  DensityProblem problem(*cut, numbered(0, 4), numbered(4, 5), options);
  const DensityValidation validation(problem, numbered(4, 5));
  EXPECT_EQ(validation.outside(), 1u);
  EXPECT_FALSE(validation.present());
  // Under a density that has an end nothing beyond it is possible.
  const UniformBox ended({-1}, {1});
  const IntervalStore store(interval_part(*data, rows, {}, Support::reals()), rows, ended, 1, false);
  EXPECT_EQ(store.lost(), (std::set<uint64_t>{1, 2}));
  EXPECT_EQ(store.rows(), 0u);
}

// Of what is known the part in the box counts: -1..0.2 is 0..0.2.
TEST(IntervalRows, AreCutToTheBox) {
  std::vector<float> values;
  IntervalRows intervals;
  RandomStream random(5);
  for (uint64_t i = 0; i < 400; ++i) {
    const double x = std::abs(random.normal());
    if (i % 4 == 0 && x < 0.2) intervals[i] = {{0, -1, 0.2f}};
    values.push_back(intervals.contains(i) ? -0.4f : static_cast<float>(x));
  }
  ASSERT_FALSE(intervals.empty());
  const auto data = make_point_source(1, std::move(values), {}, {}, {}, std::move(intervals));
  DensityOptions options;
  options.objective = "fit";
  options.proposal = "gaussian";
  options.lower = {0};
  options.upper = {HUGE_VAL};
  TrainObserver observer;
  const DensityResult result =
      train_density(*data, numbered(0, 400), {}, options, CheckpointOptions(), observer);
  const auto known =
      make_point_source(1, {-0.4f, 0.1f}, {}, {}, {}, {{0, {{0, -1, 0.2f}}}, {1, {{0, 0, 0.2f}}}});
  const std::vector<double> log_p = DensityScorer(result.model, *known).all().log_p;
  EXPECT_NEAR(log_p[0], log_p[1], 1e-4);
}

TEST(IntervalRows, AreForRealNumbers) {
  const auto data = make_point_source(2, {1, 2, 1, 0}, {"a", "b"}, {}, {}, {{1, {{1, 0, 1}}}});
  const std::vector<uint64_t> rows{0, 1};
  for (const Support& support : {Support{.space = Support::Space::counts},
                                 Support::mixed({0, 3}, {false, false}), Support::angles({false, true})}) {
    try {
      interval_part(*data, rows, {}, support);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("row 1 (from 0) has the interval 0..1 in column 'b'"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(interval_part(*data, rows, {}, Support::reals()).place, (std::vector<size_t>{1}));
}

// Of rows of N(10, 2^2) half are censored at 10, and of a fifth an interval below it is known.
std::unique_ptr<PointSource> censored_normal(uint64_t count, std::vector<double>* whole = nullptr) {
  RandomStream random(11);
  std::vector<float> values;
  IntervalRows intervals;
  for (uint64_t i = 0; i < count; ++i) {
    const double x = 10 + 2 * random.normal();
    if (whole != nullptr) whole->push_back(x);
    const double low = 3 * std::floor(x / 3);
    if (x > 10)
      intervals[i] = {{0, 10, HUGE_VALF}};
    else if (random.uniform() < 0.4)
      intervals[i] = {{0, static_cast<float>(low), static_cast<float>(std::min(low + 3, 10.0))}};
    values.push_back(intervals.contains(i) ? std::max(intervals[i][0].low, 6.0f) : static_cast<float>(x));
  }
  return make_point_source(1, std::move(values), {}, {}, {}, std::move(intervals));
}

TEST(IntervalRows, ACensoredGaussianIsRecovered) {
  std::vector<double> whole;
  const auto data = censored_normal(4000, &whole);
  DensityOptions options;
  options.objective = "fit";
  options.proposal = "gaussian";
  TrainObserver observer;
  const DensityResult result =
      train_density(*data, numbered(0, 4000), {}, options, CheckpointOptions(), observer);
  const auto* q = dynamic_cast<const Gaussian*>(result.model.proposal.get());
  ASSERT_NE(q, nullptr);
  const Standardisation& unit = result.model.standardisation;
  // Against the estimates from rows without censoring, whose standard errors are 0.03 and 0.02; censoring
  // adds about as much.
  double mean = 0, square = 0;
  for (const double x : whole) mean += x / 4000;
  for (const double x : whole) square += (x - mean) * (x - mean) / 4000;
  EXPECT_NEAR(unit.mean[0] + unit.scale[0] * q->mean()[0], mean, 0.12);
  EXPECT_NEAR(unit.scale[0] / q->root().at(0, 0), std::sqrt(square), 0.12);
}

// A network on heavy tails, which are not those of the data.
TEST(IntervalRows, AnEnergyLearnsFromThem) {
  const auto data = censored_normal(4000);
  DensityOptions options;
  options.proposal = "student-t";
  options.energy = "mlp:16,16";
  options.fourier = "0";
  options.steps = 800;
  options.learning_rate = 5e-3;
  options.batch = 256;
  options.samples = 512;
  TrainObserver observer;
  DensityResult result =
      train_density(*data, numbered(0, 3600), numbered(3600, 4000), options, CheckpointOptions(), observer);
  const std::vector<float> at{6, 8, 9.5f};
  const JudgedLogZ z = judged_log_z(result.model, {});
  const auto log_p = density_scores(result.model, {at.data(), at.size(), 1}, z.estimate);
  for (size_t i = 0; i < at.size(); ++i) {
    const double u = (static_cast<double>(at[i]) - 10) / 2;
    EXPECT_NEAR(log_p[i], -u * u / 2 - log_normal_volume(2), 0.15) << at[i];
  }
  // Beyond 10 the rows say how much there is, not where.
  const auto beyond = make_point_source(1, {10}, {}, {}, {}, {{0, {{0, 10, HUGE_VALF}}}});
  EXPECT_NEAR(DensityScorer(result.model, *beyond, z.estimate).all().log_p[0], std::log(0.5), 0.06);
}

}  // namespace
}  // namespace selfnorm
