// No bound of the likelihood gap is violated by the gap itself: the constrained optimum of
// train/likelihood_gap against analysis/gap_bounds.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "audit/bounds/gap_bounds.h"
#include "family/classifier/normalize/likelihood_gap.h"
#include "random_data.h"

namespace selfnorm {
namespace {

constexpr double kRounding = 1e-7;  // nats; the solver stops when ten iterations gain less than kGain
constexpr double kGain = 1e-11;

// A multiclass instance with features and labels at random; some have weights, some a carrier, some are
// sparse.
Dataset random_instance(RandomStream& random, std::vector<float>& log_carrier) {
  Dataset data = random_dataset({.rows = 5 + random.below(16),
                                 .features = static_cast<uint32_t>(1 + random.below(2)),
                                 .classes = static_cast<uint32_t>(2 + random.below(3)),
                                 .sparse = random.below(3) == 0},
                                random.next());
  if (random.below(3) == 0) {
    for (uint64_t i = 0; i < data.examples(); ++i)
      data.weight.push_back(static_cast<float>(1 + random.below(3)));
  }
  log_carrier.clear();
  if (random.below(3) == 0) {
    for (uint32_t k = 0; k < data.classes(); ++k) log_carrier.push_back(static_cast<float>(random.normal()));
  }
  return data;
}

// Groups of one size.
Dataset random_choices(RandomStream& random) {
  Dataset data;
  const uint64_t size = 2 + random.below(3), groups = 6 + random.below(15);
  data.features.is_sparse = false;
  data.features.dense = {groups * size, static_cast<uint32_t>(1 + random.below(3)), {}};
  for (uint64_t i = 0; i < groups * size * data.features.dense.columns; ++i) {
    data.features.dense.values.push_back(static_cast<float>(random.normal()));
  }
  for (uint64_t g = 0; g <= groups; ++g) data.group_begin.push_back(g * size);
  for (uint64_t g = 0; g < groups; ++g) data.target.push_back(static_cast<uint32_t>(random.below(size)));
  return data;
}

void check_bounds(const Dataset& data, const std::vector<float>& log_carrier, double delta) {
  const LikelihoodGap found = likelihood_gap(
      data, {.deltas = {delta}, .centre = {}, .log_carrier = log_carrier, .gain = kGain, .threads = 1});
  const GapBounds g = gap_bounds(*scored_examples(data, found.maximum.theta, log_carrier), delta);
  const double gap = found.constrained[0].gap;
  RC_ASSERT(std::abs(g.nll - found.maximum.nll) < kRounding);
  RC_ASSERT(std::abs(g.m - found.centre) < kRounding);
  RC_ASSERT(gap <= g.concavity + kRounding);
  RC_ASSERT(gap <= g.path + kRounding);
  // Where the maximum is at infinity the solver stops before the slope is 0.
  const double added = (1 - g.alpha) * std::max(0.0, g.slope);
  RC_ASSERT(gap <= g.theorem2 + added + kRounding);
  RC_ASSERT(gap <= g.proposition3 + added + kRounding);
  RC_ASSERT(gap <= g.proposition3_closed * (1 + 1e-9) + added + kRounding);
}

double random_delta(RandomStream& random) { return std::pow(10, 1.5 * random.uniform() - 1.5); }

TEST(GapBoundsAndTheGap, NoBoundIsViolatedByMulticlassModels) {
  EXPECT_TRUE(rc::check("gap <= bounds", [](uint32_t seed) {
    RandomStream random(seed);
    std::vector<float> log_carrier;
    for (int i = 0; i < 20; ++i) {
      const Dataset data = random_instance(random, log_carrier);
      check_bounds(data, log_carrier, random_delta(random));
    }
  }));
}

TEST(GapBoundsAndTheGap, NoBoundIsViolatedByJointModels) {
  EXPECT_TRUE(rc::check("gap <= bounds", [](uint32_t seed) {
    RandomStream random(seed);
    for (int i = 0; i < 10; ++i) check_bounds(random_choices(random), {}, random_delta(random));
  }));
}

}  // namespace
}  // namespace selfnorm
