#include "family/crf/crf_ladder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "family/crf/crf_evaluation.h"
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
    double squares = 0, exceed = 0;
    for (uint64_t i = 0; i < data.sentences(); ++i) {
      const double error = log_z[i] - ladder.value(rung.name, model, data, i);
      squares += error * error;
      exceed += std::abs(error) > rung.eps ? 1 : 0;
    }
    const auto n = static_cast<double>(data.sentences());
    EXPECT_NEAR(std::sqrt(squares / n), rung.rms, 0.1 * rung.rms) << rung.name;
    EXPECT_LE(exceed / n, 0.01) << rung.name;
  }
  EXPECT_EQ(ladder.value("amortised", model, data, 3), crf_normalizer(model.normalizer, data, 3));
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
