#include "family/classifier/normalize/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "normalizer/class_moments.h"
#include "normalizer/ladder/clustered_head.h"
#include "normalizer/output_stream.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::unique_ptr<ExampleSource> normal_states(uint64_t rows, uint32_t features, uint64_t seed) {
  Dataset data;
  data.features = dense_inputs(rows, features, seed);
  data.target.assign(rows, Dataset::kNoTarget);
  return make_example_source(std::move(data));
}

// log Z of an affine shift of all rows: W' = W + 1 v', so A'(h) = A(h) + v . h.
ModelFile shifted_head(ModelFile model, const std::vector<float>& v) {
  for (uint32_t k = 0; k < model.classes; ++k)
    for (uint32_t j = 0; j < model.features; ++j) model.weight[size_t{k} * model.features + j] += v[j];
  return model;
}

TEST(Normalization, TheLosslessStepUndoesAnAffineShift) {
  const ModelFile plain = clustered_head(300, 4, 6, 0.2, 1), shifted = shifted_head(plain, {3, -2, 1, 4});
  const auto states = normal_states(4000, 4, 2);
  Normalization a(plain, *states, {}), b(shifted, *states, {});
  EXPECT_GT(b.report().before.log_z.std, 4);
  EXPECT_NEAR(a.report().lossless.log_z.rms, b.report().lossless.log_z.rms, 1e-3);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(b.report().gauge.slope[j] - a.report().gauge.slope[j], (std::vector{3, -2, 1, 4})[j], 0.02);
  EXPECT_LT(b.report().probability, 1e-4);
  EXPECT_EQ(b.report().states, 3600u);
  EXPECT_EQ(b.report().held_out, 400u);
  EXPECT_EQ(b.report().compared, 400u);
  // What is left of the variance is V*, up to the ridge.
  EXPECT_NEAR(b.report().r_squared_held_out(),
              1 - std::pow(b.report().lossless.log_z.std / b.report().before.log_z.std, 2), 1e-12);
}

TEST(Normalization, AuditsAreOfTheNumbersAsStored) {
  const ModelFile head = shifted_head(clustered_head(300, 4, 6, 0.2, 1), {3, -2, 1, 4});
  const auto states = normal_states(2000, 4, 2);
  NormalizationOptions options;
  options.round = [](ModelFile& model) {
    for (float& w : model.weight) w = std::round(8 * w) / 8;
  };
  Normalization work(head, *states, options);
  EXPECT_GT(work.report().probability, 1e-3);
  const auto [kept, held_out] = random_split(2000, 0.1, 0);
  const std::vector<double> log_z = log_normalizers(work.model(), ExampleSubset(*states, held_out));
  double square = 0;
  for (const double a : log_z) square += a * a / static_cast<double>(log_z.size());
  EXPECT_NEAR(work.report().lossless.log_z.rms, std::sqrt(square), 1e-6);
}

TEST(Normalization, EndsWithALadderOfTheHeadAsItIsThen) {
  const ModelFile head = shifted_head(clustered_head(1200, 4, 12, 0.2, 1), {3, -2, 1, 4});
  const auto states = normal_states(3000, 4, 2);
  Normalization work(head, *states, {.hold_out = kHeldOutOfLadder});
  work.fit_ladder({.keep_all = true});
  const LadderFit& fit = *work.report().ladder;
  EXPECT_EQ(fit.fitted, 1500u);
  EXPECT_EQ(fit.certified, 1500u);
  EXPECT_FALSE(fit.is_exact());
  EXPECT_EQ(fit.rungs.front().name, "raw");
  EXPECT_NEAR(fit.rungs.front().rms, work.report().last().log_z.rms, 1e-6);
  EXPECT_TRUE(work.model().ladder.exists());
}

// With few classes there are no clusters, but a head that is normalised is to be raw where that will do.
TEST(Normalization, OfFewClassesTheRawRungMayBeCertified) {
  const ModelFile head = shifted_head(clustered_head(60, 4, 3, 0.01, 1), {3, -2, 1, 4});
  const auto states = normal_states(6000, 4, 2);
  Normalization work(head, *states, {.hold_out = kHeldOutOfLadder});
  const double half = work.report().lossless.log_z.rms;
  LadderOptions options{.within = 6 * half};
  work.fit_ladder(options);
  EXPECT_TRUE(work.report().ladder->is_exact());
  options.from_classes = 0;
  work.fit_ladder(options);
  EXPECT_EQ(work.report().ladder->best().name, "raw");
  for (const MeasuredRung& rung : work.report().ladder->rungs) EXPECT_NE(rung.kind, RungKind::Nearest);
}

// By states of its own, not by those that measure and certify what comes of it.
TEST(Normalization, WhetherBIsKeptIsNotChosenOnTheHeldOutStates) {
  const ModelFile head = clustered_head(60, 4, 3, 0.3, 1);
  int kept = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto states = normal_states(40, 4, seed);
    Normalization work(head, *states, {.hold_out = 0.5});
    AmortiseOptions options;
    options.kind = "mlp";
    options.hold_out = 0.3;
    work.amortise(options);
    const AmortisedFit& fit = *work.report().amortisation;
    EXPECT_EQ(work.model().normalizer.exists(), fit.rms_held_out < fit.rms_constant) << seed;
    EXPECT_EQ(work.report().amortised.has_value(), work.model().normalizer.exists());
    kept += work.model().normalizer.exists() ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 20);
}

TEST(Normalization, OneStateIsTooFew) {
  const ModelFile head = clustered_head(60, 4, 3, 0.1, 1);
  const auto one = normal_states(1, 4, 2);
  EXPECT_THROW(Normalization(head, *one, {}), Error);
}

}  // namespace
}  // namespace selfnorm
