#include "family/crf/crf_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "family/crf/crf_evaluation.h"
#include "math/random.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

constexpr CrfPlan kPlan{.sentences = 2000, .bigrams = 1, .has_values = true};

// Without weights A = T log L: the level is exact, raw scores are not.
TEST(CrfLadder, TheLevelOfAnEmptyModelIsExact) {
  CrfModel model = random_crf(kPlan);
  std::fill(model.theta.begin(), model.theta.end(), 0.0f);
  const Sequences data = random_sequences(kPlan);
  const CrfLadder ladder = fit_crf_ladder(model, data, 1);
  EXPECT_NEAR(ladder.per_token, std::log(static_cast<double>(model.shape.labels)), 1e-6);
  EXPECT_NEAR(ladder.per_sentence, 0, 1e-5);
  ASSERT_EQ(ladder.rungs.size(), 2u);
  EXPECT_GT(ladder.rungs[0].eps, 1);
  EXPECT_LT(ladder.rungs[1].eps, 1e-4);
  EXPECT_EQ(runtime::cheapest_within(ladder.rungs, {.within = 0.1}), 1u);
}

TEST(CrfLadder, ErrorsAreThoseOfWhatIsServed) {
  CrfModel model = random_crf(kPlan);
  model.normalizer = {true, 0.5, -0.25, std::vector<float>(kPlan.unigrams, 0.125f)};
  const Sequences data = random_sequences(kPlan);
  const CrfLadder ladder = fit_crf_ladder(model, data, 1);
  ASSERT_EQ(ladder.rungs.size(), 3u);
  const std::vector<double> log_z = crf_log_z(model, data);
  for (const runtime::Rung& rung : ladder.rungs) {
    CrfRungValue value(model, ladder, rung);
    double squares = 0, exceed = 0;
    for (uint64_t i = 0; i < data.sentences(); ++i) {
      const double error = log_z[i] - value(data, i);
      squares += error * error;
      exceed += std::abs(error) > rung.eps ? 1 : 0;
    }
    const auto n = static_cast<double>(data.sentences());
    EXPECT_NEAR(std::sqrt(squares / n), rung.rms, 0.1 * rung.rms) << rung.name;
    EXPECT_LE(exceed / n, 0.01) << rung.name;
  }
  EXPECT_EQ(CrfRungValue(model, ladder, ladder.rungs[2])(data, 3), crf_normalizer(model.normalizer, data, 3));
}

// A cyclic chain of 120 labels, a word of which is one of two: few labels are near.
CrfModel decided_crf(const CrfPlan& plan) {
  CrfModel model = random_crf(plan);
  for (float& w : model.theta) w *= 0.1f;
  const uint32_t labels = plan.labels;
  for (uint32_t a = 0; a < plan.unigrams; ++a)
    for (const uint32_t k : {a % labels, (7 * a + 3) % labels}) model.theta[a * labels + k] += 6;
  for (uint32_t j = 0; j < labels; ++j)
    model.theta[model.shape.transition() + j * labels + (j + 1) % labels] += 4;
  return model;
}
constexpr CrfPlan kMany{.sentences = 1600, .longest = 12, .labels = 120, .unigrams = 8};

TEST(CrfLadder, ManyLabelsHaveNearestRungs) {
  const CrfModel model = decided_crf(kMany);
  const CrfLadder ladder = fit_crf_ladder(model, random_sequences(kMany), 1);
  CrfPlan other = kMany;
  other.seed = 9;
  const Sequences data = random_sequences(other);
  const std::vector<double> log_z = crf_log_z(model, data);
  size_t nearest = 0;
  double before = std::numeric_limits<double>::infinity();
  for (const runtime::Rung& rung : ladder.rungs) {
    if (rung.kind != runtime::RungKind::Nearest) continue;
    ++nearest;
    EXPECT_LE(rung.eps, before) << rung.name;
    before = rung.eps;
    EXPECT_GE(rung.cost, 1) << rung.name;
    EXPECT_LE(rung.cost, 0.5 * kMany.labels) << rung.name;
    CrfRungValue value(model, ladder, rung);
    double exceed = 0;
    for (uint64_t i = 0; i < data.sentences(); ++i)
      exceed += std::abs(log_z[i] - value(data, i)) > rung.eps ? 1 : 0;
    EXPECT_LE(exceed, 0.015 * static_cast<double>(data.sentences())) << rung.name;  // of sentences not seen
  }
  EXPECT_GE(nearest, 2u);
  const size_t best = runtime::cheapest_within(ladder.rungs, {.within = 0.1});
  ASSERT_NE(best, runtime::kNoRung);
  EXPECT_EQ(ladder.rungs[best].kind, runtime::RungKind::Nearest);
}

// Few labels, or pairs of their own at every position: exact is taken.
TEST(CrfLadder, OthersHaveNone) {
  CrfPlan few = kMany;
  few.labels = 99;
  EXPECT_EQ(fit_crf_ladder(decided_crf(few), random_sequences(few), 1).rungs.size(), 2u);
  CrfPlan own = kMany;
  own.sentences = 20;
  own.bigrams = 1;
  EXPECT_EQ(fit_crf_ladder(random_crf(own), random_sequences(own), 1).rungs.size(), 2u);
}

TEST(CrfLadder, NearestRungsAreReadBack) {
  CrfModel model = decided_crf(kMany);
  const CrfLadder ladder = fit_crf_ladder(model, random_sequences(kMany), 1);
  const std::string record = "{\"ladder\":" + crf_ladder_json(ladder) + "}";
  model.audit_json = record;
  const CrfLadder read = crf_ladder_of(model, "m");
  EXPECT_EQ(read.rungs, ladder.rungs);
  EXPECT_EQ(read.share, ladder.share);
  for (const bool is_short : {true, false}) {
    auto damaged = nlohmann::ordered_json::parse(record);
    auto& share = damaged["ladder"]["share"];
    is_short ? share.erase(0) : void(share[0] = -1);
    model.audit_json = damaged.dump();
    EXPECT_THROW(crf_ladder_of(model, "m"), Error) << is_short;
  }
}

// One label of the first position is 100 nats below the best: exact looks back for what it may have lost, and
// that is a pass over all labels; what nearest rungs lose is part of their error.
TEST(CrfLadder, NearestRungsDoNotLookBack) {
  constexpr uint32_t kLabels = 120;
  constexpr uint64_t kLength = 4;
  RandomStream random(3);
  std::vector<float> unary(kLength * kLabels), pair(kLabels * kLabels);
  for (float& u : unary) u = static_cast<float>(random.normal());
  for (float& v : pair) v = static_cast<float>(random.normal());
  unary[3] = -100;
  const CrfScores scores{kLabels, kLength, unary, pair, false};
  PairFactors<float> factors;
  factors.assign(pair.data(), kLabels);
  const auto empty = [](const Lattice& lattice) {
    return static_cast<uint64_t>(std::ranges::count(lattice.marginals(), 0.0f));
  };
  Lattice exact, nearest;
  const double log_z = exact.forward(scores, factors);
  EXPECT_LT(empty(exact), 2u);
  const LabelTail<float> tail(factors, std::vector<double>(kLabels, 1.0 / kLabels), 0.001);
  EXPECT_NEAR(nearest.forward_nearest(scores, factors, tail), log_z, 0.1);
  EXPECT_EQ(empty(nearest), kLength * kLabels);
  EXPECT_FALSE(nearest.is_in_log_space());
}

// All of them in log space, and it is said.
TEST(CrfLadder, NearestRungsThatVanishCostEveryLabel) {
  const std::vector<float> unary{0, -1000, -1000, 0}, pair{0, -1000, 0, 0};
  PairFactors<float> factors;
  factors.assign(pair.data(), 2);
  Lattice lattice;
  lattice.forward_nearest({2, 2, unary, pair, false}, factors, {factors, std::vector<double>{0, 1}, 0.5});
  EXPECT_TRUE(lattice.is_in_log_space());
  EXPECT_EQ(lattice.near_labels(), 2u);
}

// Of all rungs that were measured, also where most of them are too dear to keep, and of what is fitted to.
TEST(CrfLadder, SaysHowManySentencesAreEnough) {
  CrfModel model = random_crf(kMany);
  std::fill(model.theta.begin(), model.theta.end(), 0.0f);  // all labels are as near
  CrfPlan plan = kMany;
  plan.sentences = 752;  // 100 and log(0.01 / 7) / log(0.99)
  const CrfLadder enough = fit_crf_ladder(model, random_sequences(plan), 1);
  EXPECT_LT(enough.rungs.size(), 7u);
  EXPECT_EQ(enough.enough, 752u);
  for (const runtime::Rung& rung : enough.rungs) EXPECT_TRUE(std::isfinite(rung.eps)) << rung.name;
  --plan.sentences;
  const CrfLadder few = fit_crf_ladder(model, random_sequences(plan), 1);
  EXPECT_EQ(few.enough, 752u);
  for (const runtime::Rung& rung : few.rungs) EXPECT_TRUE(std::isinf(rung.eps)) << rung.name;
}

// The names of the other rungs with the kind of nearest ones, with shares and without.
TEST(CrfLadder, ARungOfAnotherKindIsDamage) {
  CrfModel model = random_crf(kMany);
  model.normalizer = {true, 0, 0, std::vector<float>(kMany.unigrams)};
  const auto read = [&model](const std::string& name, const std::string& kind, bool has_share) {
    nlohmann::ordered_json ladder{{"level", {{"per_sentence", 0}, {"per_token", 0}}}};
    ladder["rungs"][0] = {{"name", name}, {"kind", kind}, {"cost", 1}, {"stop", 0.1}};
    if (has_share) ladder["share"] = std::vector<double>(kMany.labels, 1.0 / kMany.labels);
    model.audit_json = nlohmann::ordered_json{{"ladder", ladder}}.dump();
    return crf_ladder_of(model, "m").rungs.size();
  };
  for (const std::string name : {"raw", "level", "amortised"}) {
    EXPECT_EQ(read(name, "linear", false), 1u);
    for (const bool has_share : {false, true}) EXPECT_THROW(read(name, "nearest", has_share), Error) << name;
  }
  EXPECT_EQ(read("nearest-0.1", "nearest", true), 1u);
  EXPECT_THROW(read("nearest-0.1", "nearest", false), Error);
  EXPECT_THROW(read("nearest-0.1", "raw", true), Error);
}

TEST(CrfLadder, IsReadBackFromTheRecord) {
  CrfModel model = random_crf(kPlan);
  EXPECT_TRUE(crf_ladder_of(model, "m").rungs.empty());
  const CrfLadder ladder = fit_crf_ladder(model, random_sequences(kPlan), 1);
  model.audit_json = "{\"ladder\":" + crf_ladder_json(ladder) + "}";
  const CrfLadder read = crf_ladder_of(model, "m");
  EXPECT_EQ(read.rungs, ladder.rungs);
  EXPECT_EQ(read.per_sentence, ladder.per_sentence);
  EXPECT_EQ(read.per_token, ladder.per_token);
  for (const char* damaged : {"{\"ladder\": 3}", "{\"ladder\": {\"rungs\": [], \"level\": {}}}"}) {
    model.audit_json = damaged;
    EXPECT_THROW(crf_ladder_of(model, "m"), Error) << damaged;
  }
}

}  // namespace
}  // namespace selfnorm::test
