#include "family/density/train/density_normalizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/checkpoint.h"
#include "math/random.h"

namespace selfnorm {
namespace {

// An energy that is 0 tilts the proposal: log Z = 0.
class DensityNormalizerTest : public testing::Test {
 protected:
  DensityNormalizerTest() {
    RandomStream random(1);
    for (float& x : values_) x = static_cast<float>(random.normal());
    std::iota(rows_.begin(), rows_.end(), uint64_t{0});
    options_.energy = "mlp:4";
    options_.fourier = "0";
    options_.proposal = "gaussian";
  }
  DensityProblem problem() {
    DensityProblem out(*data(), rows_, {}, options_);
    for (float& theta : out.energy().parameters()) theta = 0;
    out.energy().parameters_changed();
    return out;
  }
  const PointSource* data() {
    if (!source_) source_ = make_point_source(1, values_);
    return source_.get();
  }

  std::vector<float> values_ = std::vector<float>(200);
  std::vector<uint64_t> rows_ = std::vector<uint64_t>(200);
  DensityOptions options_;
  std::unique_ptr<PointSource> source_;
};

TEST_F(DensityNormalizerTest, StartsAtLogZAndMovesToWhereItsDerivativeIsZero) {
  DensityProblem p = problem();
  DensityNormalizer b(p, true);
  b.estimate(0);
  EXPECT_NEAR(b.value(), 0, 1e-6);
  for (int i = 0; i < 2000; ++i) b.move(1 - std::exp(0.7 - b.value()), 0.01);  // log Z_hat = 0.7
  EXPECT_NEAR(b.value(), 0.7, 0.02);
}

TEST_F(DensityNormalizerTest, IsEstimatedAnewWhenLogRHasDrifted) {
  options_.drift = 0.5;
  DensityProblem p = problem();
  DensityNormalizer b(p, true);
  b.set(-3);
  int steps = 0;
  while (!b.watch(3, 0)) ++steps;
  EXPECT_GT(steps, 3);  // one outlier is no drift
  EXPECT_LT(steps, 100);
  EXPECT_NEAR(b.value(), 0, 1e-6);
}

TEST_F(DensityNormalizerTest, StaysZeroWhenItIsNotLearned) {
  for (const bool is_used : {false, true}) {
    options_.normalizer = is_used ? "zero" : "constant";
    DensityProblem p = problem();
    DensityNormalizer b(p, is_used);
    EXPECT_FALSE(b.is_learned());
    b.estimate(0);
    b.move(1, 0.1);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(b.watch(10, 0));
    EXPECT_EQ(b.value(), 0);
  }
}

TEST_F(DensityNormalizerTest, ACheckpointHoldsAllOfIt) {
  DensityProblem p = problem();
  DensityNormalizer whole(p, true), rest(p, true);
  for (int i = 0; i < 5; ++i) {
    whole.move(0.3, 0.01);
    whole.watch(0.4, 0);
  }
  Checkpoint c;
  CheckpointFields written(c);
  whole.state(written);
  CheckpointFields read(std::as_const(c));
  rest.state(read);
  for (int i = 0; i < 5; ++i) {
    whole.move(-0.2, 0.01);
    rest.move(-0.2, 0.01);
  }
  EXPECT_EQ(whole.value(), rest.value());
}

}  // namespace
}  // namespace selfnorm
