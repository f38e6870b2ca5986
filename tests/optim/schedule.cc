#include <gtest/gtest.h>

#include <cmath>

#include "optim/adaptive.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Schedule, FactorsAreTheFormulas) {
  EXPECT_EQ((Schedule{"constant", 10, 5}.factor(7)), 1);
  EXPECT_NEAR((Schedule{"linear", 10, 5}.factor(4)), 0.6, 1e-15);
  EXPECT_NEAR((Schedule{"cosine", 10, 5}.factor(5)), 0.5, 1e-15);
  EXPECT_NEAR((Schedule{"inverse-sqrt", 10, 5}.factor(15)), 0.5, 1e-15);
  for (const std::string& name : schedule_names()) EXPECT_EQ((Schedule{name, 10, 5}.factor(0)), 1);
  EXPECT_THROW((Schedule{"steps", 10, 5}.factor(0)), Error);
}

}  // namespace
}  // namespace selfnorm
