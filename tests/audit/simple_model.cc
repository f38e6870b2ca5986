#include "audit/simple_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace selfnorm {
namespace {

TEST(SimpleModel, FrequenciesWithOneMoreOfEach) {
  const std::vector<uint64_t> train{7, 1, 0}, held_out{2, 1, 1};
  const SimpleModel simple = frequency_model("frequencies", train, held_out);
  EXPECT_NEAR(simple.nll, -(2 * std::log(8.0 / 11) + std::log(2.0 / 11) + std::log(1.0 / 11)) / 4, 1e-12);
  EXPECT_EQ(class_counts(std::vector<uint32_t>{0, 2, 0, 0xFFFFFFFFu}, 3), (std::vector<uint64_t>{2, 0, 1}));
}

TEST(SimpleModel, WhatIsNotBetterIsSaidWithBothNumbers) {
  const SimpleModel simple{"a mixture", 105.25, "take it"};
  const std::string text = not_better(282.5, simple);
  for (const char* word : {"not better", "282.5000", "a mixture", "105.2500", "take it"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_NE(not_better(INFINITY, simple), "");
  EXPECT_FALSE(is_divergence(282.5, simple));
  EXPECT_TRUE(is_divergence(1e5, simple));
  EXPECT_NE(not_better(1e5, simple).find("training diverged"), std::string::npos);
  EXPECT_FALSE(is_divergence(1e5, {"nothing held out", NAN, ""}));
  EXPECT_NE(not_better(NAN, simple), "");
  EXPECT_EQ(not_better(105.26, simple), "");
  EXPECT_EQ(not_better(3, {"nothing held out", NAN, ""}), "");
}

}  // namespace
}  // namespace selfnorm
