#include <gtest/gtest.h>

#include "family/density/density_log_z.h"
#include "model/energy/tilted.h"
#include "normalizer/sampling/importance_log_z.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

LogZEstimate estimate(const char* method, double effective, double tail = 0) {
  return {method, 0, -0.1, 0.1, effective, 1000, tail};
}

TEST(LogZDoubt, NothingWhereEverythingIsGood) {
  const SmallEnergy energy = quadratic({0}, {1});
  EXPECT_EQ(log_z_doubt(estimate("importance", 100, kHeaviestTail), energy, 100), "");
  EXPECT_EQ(log_z_doubt(estimate("annealed", 100), energy, 100), "");
  EXPECT_EQ(log_z_doubt({"quadrature", 0, -0.1, 0.1, 5, 5}, energy, 100), "");
}

// Only what the model and the method allow is advised.
TEST(LogZDoubt, AdviceCanBeFollowed) {
  const SmallEnergy real = quadratic({0}, {1});
  Support whole;
  whole.space = Support::Space::counts;
  const SmallEnergy counts(1, whole, [](std::span<const float>, std::span<double>) { return 0.0; });
  const SmallEnergy levels = cycle(2, 2, 0, 0);
  const TiltedEnergy tilted(std::make_unique<SmallEnergy>(cycle(2, 2, 0, 0)),
                            std::make_shared<SmallUniform>(levels.support()));

  const std::string few = log_z_doubt(estimate("importance", 3), real, 100);
  for (const char* words :
       {"3.0 effective samples", "annealed", "draw more samples", "mixture", "base proposal"})
    EXPECT_TRUE(says(few, words)) << few;
  EXPECT_FALSE(says(log_z_doubt(estimate("annealed", 3), real, 100), "more samples"));
  EXPECT_FALSE(says(log_z_doubt(estimate("annealed", 3), real, 100), "method annealed"));
  const std::string heavy = log_z_doubt(estimate("importance", 500, 0.6), counts, 100);
  EXPECT_TRUE(says(heavy, "heavy tail"));
  for (const char* words : {"annealed", "mixture", "more samples"}) EXPECT_FALSE(says(heavy, words)) << heavy;
  EXPECT_TRUE(says(log_z_doubt(estimate("importance", 500, 0.6), levels, 100), "annealed"));
  const std::string last = log_z_doubt(estimate("annealed", 3), tilted, 100);
  EXPECT_TRUE(says(last, "weight-decay")) << last;
  EXPECT_FALSE(says(last, "base proposal")) << last;
}

TEST(LogZDoubt, WideIntervals) {
  const SmallEnergy energy = quadratic({0}, {1});
  EXPECT_TRUE(says(log_z_doubt({"annealed", 0, -1, 1, 500, 5}, energy, 100), "wider than 1 nat"));
  EXPECT_TRUE(says(log_z_doubt({"quadrature", 0, -HUGE_VAL, 1, 5, 5}, energy, 100), "method importance"));
}

TEST(LogZContradiction, BeyondBothErrorsOnly) {
  const LogZEstimate computed{"quadrature", 1, 0.9, 1.05, 0, 0};
  const auto drawn = [](double value, double low, double high) {
    return LogZEstimate{"importance", value, value - low, value + high, 1000, 20'000};
  };
  EXPECT_EQ(log_z_contradiction(computed, drawn(1.24, 0.1, 0.01)), "");
  EXPECT_NE(log_z_contradiction(computed, drawn(1.26, 0.1, 0.5)), "");
  EXPECT_EQ(log_z_contradiction(computed, drawn(0.71, 0.01, 0.1)), "");
  EXPECT_NE(log_z_contradiction(computed, drawn(0.69, 0.5, 0.1)), "");
  const LogZEstimate sharp{"quadrature", 1, 1, 1, 0, 0};
  EXPECT_EQ(log_z_contradiction(sharp, drawn(1.009, 1e-6, 1e-6)), "");
  EXPECT_TRUE(says(log_z_contradiction(sharp, drawn(2, 0.1, 0.1)), "one of them misses"));
}

}  // namespace
}  // namespace selfnorm
