#include "family/classifier/normalize/ladder_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "audit/rung_certificate.h"
#include "gpu/device.h"
#include "math/half.h"
#include "math/parallel.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/ladder/clustered_head.h"
#include "normalizer/ladder/nearest_fit.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {
namespace {

std::unique_ptr<ExampleSource> source_of(uint64_t rows, uint32_t features, uint64_t seed) {
  Dataset data;
  data.features = dense_inputs(rows, features, seed);
  data.target.assign(rows, Dataset::kNoTarget);
  return make_example_source(std::move(data));
}

const LadderFit& small_fit() {
  static const LadderFit fit = fit_ladder(clustered_head(1200, 5, 12, 0.2, 1), *source_of(2600, 5, 2),
                                          {.within = 0.1, .keep_all = true});
  return fit;
}

TEST(LadderFit, TakesTheCheapestCertifiedRung) {
  const LadderFit& fit = small_fit();
  EXPECT_FALSE(fit.is_exact());
  EXPECT_EQ(fit.exact().name, "exact");
  EXPECT_LE(fit.best().eps, 0.1);
  for (const MeasuredRung& rung : fit.rungs)
    EXPECT_TRUE(rung.cost >= fit.best().cost || rung.eps > 0.1) << rung.name;
  EXPECT_EQ(fit.fitted + fit.certified, 2600u);
  EXPECT_NE(chosen_text(fit).find("the cheapest rung that is certified"), std::string::npos);
}

// Rungs dearer than exact are not kept, so that the runtime serves what was chosen.
TEST(LadderFit, KeepsWhatIsCheaperThanExact) {
  const LadderFit& fit = small_fit();
  const size_t served = runtime::cheapest_within(fit.ladder.rungs, {.within = 0.1});
  ASSERT_NE(served, runtime::kNoRung);
  EXPECT_EQ(fit.ladder.rungs[served].name, fit.best().name);
  for (const LadderRung& rung : fit.ladder.rungs) EXPECT_LT(rung.cost, 1200) << rung.name;
}

TEST(LadderFit, InputsThatTrainedTheModelCertifyNothing) {
  const LadderFit fit =
      fit_ladder(clustered_head(1200, 5, 12, 0.2, 1), *source_of(2600, 5, 2), {.certifies = false});
  EXPECT_TRUE(fit.is_exact());
  EXPECT_FALSE(fit.ladder.exists());
  EXPECT_NE(chosen_text(fit).find("the model was trained on these inputs"), std::string::npos);
}

// 16 rungs need 735 inputs to certify anything, and fitting needs 200: then 935 will do, and parting them as
// more are parted (515 and 420) would not.
TEST(LadderFit, FewInputsArePartedByWhatCertificatesNeed) {
  const ModelFile head = clustered_head(1200, 5, 12, 0.2, 1);
  const LadderOptions options{.within = 0.1, .keep_all = true};
  const LadderFit enough = fit_ladder(head, *source_of(935, 5, 2), options);
  EXPECT_EQ(enough.fitted, 200u);
  EXPECT_EQ(enough.certified, 735u);
  for (const MeasuredRung& rung : enough.rungs) EXPECT_TRUE(std::isfinite(rung.eps)) << rung.name;
  const LadderFit few = fit_ladder(head, *source_of(934, 5, 2), options);
  EXPECT_TRUE(few.is_exact());
  EXPECT_NE(few.reason.find("expected at least 200 and 735; 935 in all would do"), std::string::npos)
      << few.reason;
  const LadderFit many = fit_ladder(head, *source_of(1400, 5, 2), options);
  EXPECT_EQ(many.fitted, 630u);
}

TEST(LadderFit, TheErrorIsRoundedUp) {
  LadderFit fit;
  fit.rungs.resize(2);
  fit.rungs[0].eps = 0.0701;
  EXPECT_NE(chosen_text(fit).find("within 0.071 for"), std::string::npos) << chosen_text(fit);
}

// What is certified holds on inputs that nothing has seen, by what the file will hold.
TEST(LadderFit, TheCertificateHoldsOnFreshInputs) {
  ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  model.ladder = small_fit().ladder;
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  const Features fresh = dense_inputs(4000, 5, 77);
  const std::vector<double> exact = ExactSums(model, false).log_z(fresh);
  for (const runtime::RungLayout& rung : layout.ladder.rungs) {
    uint64_t exceeded = 0;
    for (uint64_t i = 0; i < fresh.rows(); ++i) {
      runtime::Approximation a;
      ASSERT_TRUE(scorer.log_normalizer({fresh.dense.row(i)}, rung, &a));
      exceeded += std::abs(a.log_z - exact[i]) > rung.eps ? 1 : 0;
    }
    EXPECT_LT(exceeded, 40 + 4 * 7) << rung.name;  // 1%, and four standard deviations
  }
}

ModelFile bfloat16_head() {
  ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  for (float& w : model.weight) w = from_bfloat16(to_bfloat16(w));
  return model;
}

const LadderFit& bfloat16_fit() {
  static const LadderFit fit =
      fit_ladder(bfloat16_head(), *source_of(2600, 5, 2), {.within = 0.1, .keep_all = true});
  return fit;
}

TEST(LadderFit, NearestRungsOfKnownSumsAreThoseOfTheRuntime) {
  ModelFile model = bfloat16_head();
  model.ladder = bfloat16_fit().ladder;
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  const Features fresh = dense_inputs(300, 5, 77);
  const ExactSums sums(model, false);
  const std::vector<double> exact = sums.log_z(fresh);
  const NearestValues values(sums, model.ladder.clusters, fresh, exact);
  int rungs = 0;
  for (size_t r = 0; r < layout.ladder.rungs.size(); ++r) {
    if (layout.ladder.rungs[r].kind != RungKind::Nearest) continue;
    ++rungs;
    const std::vector<runtime::Approximation> known = values.of(model.ladder.rungs[r]);
    int dearer = 0;
    for (uint64_t i = 0; i < fresh.rows(); ++i) {
      runtime::Approximation a;
      ASSERT_TRUE(scorer.log_normalizer({fresh.dense.row(i)}, layout.ladder.rungs[r], &a));
      dearer += a.cost != known[i].cost ? 1 : 0;  // where a cluster is just as doubtful as the stop
      if (a.cost == known[i].cost) {
        EXPECT_NEAR(a.log_z, known[i].log_z, 1e-3);
      }
    }
    EXPECT_LE(dearer, 3) << layout.ladder.rungs[r].name;
  }
  EXPECT_GT(rungs, 3);
}

// Through the emulated module (tests/gpu/emulated).
LadderFit fit_on_device(const ModelFile& model, const ExampleSource& inputs, const LadderOptions& options) {
  setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1);
  choose_device("cuda");
  EXPECT_TRUE(ExactSums(model, false).serves_clusters());
  LadderFit out = fit_ladder(model, inputs, options);
  choose_device("cpu");
  unsetenv("SELFNORM_CUDA_MODULE");
  return out;
}

void expect_near(const LadderFit& here, const LadderFit& there) {
  ASSERT_EQ(here.rungs.size(), there.rungs.size());
  EXPECT_EQ(here.best().name, there.best().name);
  for (size_t r = 0; r < here.rungs.size(); ++r) {
    EXPECT_NEAR(here.rungs[r].eps, there.rungs[r].eps, 0.02) << here.rungs[r].name;
    EXPECT_NEAR(here.rungs[r].cost, there.rungs[r].cost, 0.05 * here.rungs[r].cost + 1) << here.rungs[r].name;
  }
}

TEST(LadderFit, ADeviceCertifiesWhatTheCpuDoes) {
  expect_near(bfloat16_fit(),
              fit_on_device(bfloat16_head(), *source_of(2600, 5, 2), {.within = 0.1, .keep_all = true}));
}

// With few classes there are no clusters that a device could sum.
TEST(LadderFit, ADeviceCertifiesFewClasses) {
  ModelFile model = clustered_head(100, 5, 12, 0.2, 1);
  for (float& w : model.weight) w = from_bfloat16(to_bfloat16(w));
  const auto inputs = source_of(2600, 5, 2);
  const LadderOptions options{.within = 0.1, .from_classes = 0};
  const LadderFit here = fit_ladder(model, *inputs, options);
  EXPECT_GT(here.rungs.size(), 2u);
  expect_near(here, fit_on_device(model, *inputs, options));
}

TEST(LadderFit, IsTheSameForAnyNumberOfThreads) {
  const ModelFile model = clustered_head(1000, 4, 8, 0.2, 3);
  const auto inputs = source_of(1800, 4, 4);
  const Ladder all = fit_ladder(model, *inputs, {}).ladder;
  const ThreadLimit limit(1);
  EXPECT_EQ(fit_ladder(model, *inputs, {}).ladder, all);
}

TEST(LadderFit, KeepsWhatWasChosenUnlessAllIsAskedFor) {
  const ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  EXPECT_EQ(small_fit().ladder.rungs.size() + 1, small_fit().rungs.size());
  const LadderFit cheap = fit_ladder(model, *source_of(2600, 5, 2), {.max_cost = 1});
  ASSERT_FALSE(cheap.is_exact());
  EXPECT_LE(cheap.best().cost, 1);
  EXPECT_EQ(cheap.ladder.rungs.size(), cheap.best().name == "raw" ? 1u : 2u);
  EXPECT_EQ(cheap.ladder.clusters.clusters(), 0u);
}

TEST(LadderFit, TakesExactWhereThatIsCheapOrNothingCanBeSaid) {
  const LadderFit few = fit_ladder(random_head(20, 3, 1), *source_of(3000, 3, 2), {});
  EXPECT_TRUE(few.is_exact());
  EXPECT_FALSE(few.ladder.exists());
  EXPECT_NE(few.reason.find("20 classes is cheap"), std::string::npos);
  const LadderFit short_of = fit_ladder(random_head(1000, 3, 1), *source_of(300, 3, 2), {});
  EXPECT_TRUE(short_of.is_exact());
  EXPECT_NE(short_of.reason.find("too few inputs"), std::string::npos);
}

TEST(LadderFit, RefusesOptionsOutOfRange) {
  const ModelFile model = random_head(20, 3, 1);
  const auto inputs = source_of(10, 3, 2);
  EXPECT_THROW(fit_ladder(model, *inputs, {.within = 0}), Error);
  EXPECT_THROW(fit_ladder(model, *inputs, {.rho = 1}), Error);
  EXPECT_THROW(fit_ladder(model, *inputs, {.confidence = 0}), Error);
  EXPECT_THROW(fit_ladder(model, *inputs, {.clusters = 9000}), Error);
}

// theory.md 5: after choosing the cheapest rung whose certificate says eps, that certificate is wrong at most
// as often as the confidence allows. Eight rungs whose true share beyond eps is just above rho, so that every
// certificate would be wrong: the worst case. Independent errors are the worst for a choice. 4,000 trials: 1%
// and four standard deviations.
TEST(CertifiedError, CoversAfterTheChoice) {
  constexpr double kRho = 0.01, kEps = 1;
  constexpr size_t kRungs = 8, kInputs = 1500, kTrials = 4000;
  RandomStream random(5);
  size_t wrong = 0;
  for (size_t trial = 0; trial < kTrials; ++trial) {
    bool any = false;
    for (size_t r = 0; r < kRungs && !any; ++r) {
      std::vector<double> sizes(kInputs);
      for (double& e : sizes) e = random.uniform() < kRho * 1.0001 ? 2 : 0.5;
      any = certified_error(sizes, kRho, 0.99, kRungs) <= kEps;
    }
    wrong += any ? 1 : 0;
  }
  EXPECT_LE(static_cast<double>(wrong) / kTrials, 0.01 + 4 * std::sqrt(0.01 * 0.99 / kTrials));
  EXPECT_GT(wrong, 0u);  // it is not merely never given
}

// The same with the errors of real rungs, which go together: of a population of 20,000 inputs the true share
// beyond a certified error is known. 1,000 trials certify all rungs on 750 draws; a trial fails when any rung
// is beyond its certificate in more than 1%, which is what the worst choice finds. Without the correction for
// choosing it fails too often, so the test can tell.
TEST(LadderFit, CoversWhateverIsChosen) {
  constexpr size_t kPopulation = 20'000, kDraws = 750, kTrials = 1000;
  ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  model.ladder = small_fit().ladder;
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  const Features all = dense_inputs(kPopulation, 5, 78);
  const std::vector<double> exact = ExactSums(model, false).log_z(all);
  std::vector<std::vector<double>> size;  // by rung
  for (const runtime::RungLayout& rung : layout.ladder.rungs) {
    size.emplace_back();
    for (uint64_t i = 0; i < kPopulation; ++i) {
      runtime::Approximation a;
      ASSERT_TRUE(scorer.log_normalizer({all.dense.row(i)}, rung, &a));
      size.back().push_back(std::abs(a.log_z - exact[i]));
    }
  }
  std::vector<double> limit;  // more than 1% are beyond anything below it
  for (std::vector<double> sorted : size) {
    std::sort(sorted.begin(), sorted.end());
    limit.push_back(sorted[kPopulation - kPopulation / 100 - 1]);
  }
  RandomStream random(9);
  size_t wrong = 0, wrong_without = 0;
  for (size_t trial = 0; trial < kTrials; ++trial) {
    std::vector<uint64_t> drawn(kDraws);
    for (uint64_t& i : drawn) i = random.below(kPopulation);
    bool any = false, any_without = false;
    for (size_t r = 0; r < size.size(); ++r) {
      std::vector<double> some;
      for (const uint64_t i : drawn) some.push_back(size[r][i]);
      any = any || certified_error(some, 0.01, 0.99, size.size()) < limit[r];
      any_without = any_without || certified_error(some, 0.01, 0.99, 1) < limit[r];
    }
    wrong += any ? 1 : 0;
    wrong_without += any_without ? 1 : 0;
  }
  const double most = 0.01 + 4 * std::sqrt(0.01 * 0.99 / kTrials);
  EXPECT_LE(static_cast<double>(wrong) / kTrials, most);
  EXPECT_GT(static_cast<double>(wrong_without) / kTrials, most);
}

// A search finds the same rung as trying all, or a dearer one where its inputs said less.
TEST(LadderFit, FitsOnlyWhatCanPayWhereThatIsAskedFor) {
  const ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  const LadderFit some = fit_ladder(model, *source_of(2600, 5, 2), {.within = 0.1, .tries_all = false});
  ASSERT_FALSE(some.is_exact());
  EXPECT_LE(some.best().eps, 0.1);
  EXPECT_LT(some.rungs.size(), small_fit().rungs.size());
  size_t nearest = 0;
  for (const MeasuredRung& rung : some.rungs) nearest += rung.kind == RungKind::Nearest ? 1 : 0;
  EXPECT_GE(nearest, 2u);
  EXPECT_LE(nearest, 5u);
}

// What score promises when nobody says is what the ladder was fitted for.
TEST(LadderFit, RemembersWhatWasAskedFor) {
  const ModelFile model = clustered_head(1200, 5, 12, 0.2, 1);
  const auto inputs = source_of(2600, 5, 2);
  const LadderFit other =
      fit_ladder(model, *inputs, {.within = 0.5, .rho = 0.05, .confidence = 0.9, .tries_all = false});
  EXPECT_EQ(other.ladder.promise, (runtime::Promise{0.5, 0.05, 0.9}));
  EXPECT_EQ(runtime::cheapest_within(other.ladder.rungs, other.ladder.promise) == runtime::kNoRung,
            other.is_exact());
  EXPECT_EQ(small_fit().ladder.promise, runtime::Promise());
  const LadderFit cheap = fit_ladder(model, *inputs, {.max_cost = 1});
  EXPECT_EQ(cheap.ladder.promise.within, cheap.best().eps);
}

TEST(CertifiedError, IsAnOrderStatistic) {
  std::vector<double> sizes;
  for (int i = 0; i < 2000; ++i) sizes.push_back(i);
  const double one = certified_error(sizes, 0.01, 0.99, 1), many = certified_error(sizes, 0.01, 0.99, 10);
  EXPECT_GT(one, 1980);
  EXPECT_GT(many, one);
  EXPECT_TRUE(std::isinf(certified_error(std::vector<double>(400, 0.0), 0.01, 0.99, 1)));
}

}  // namespace
}  // namespace selfnorm
