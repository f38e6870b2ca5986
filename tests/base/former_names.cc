#include "base/former_names.h"

#include <gtest/gtest.h>

#include <set>

#include "base/option_table.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::string now(const std::string& name, const std::set<std::string>& options) {
  return present_name(name, [&](const std::string& one) { return options.contains(one); });
}

TEST(FormerNames, WhereTheOptionBecameAnother) {
  EXPECT_EQ(now("noise", {"proposal", "samples"}), "proposal");
  EXPECT_EQ(now("noise", {"proposal", "noise"}), "");  // an option of its own: the deviation of dsm
  EXPECT_EQ(now("noise", {"alpha"}), "");
  EXPECT_EQ(now("samples", {"number"}), "number");
  EXPECT_EQ(now("alpha", {"proposal"}), "");
  EXPECT_EQ(present_value("normalizer", "learned"), "constant");
  EXPECT_EQ(present_value("normalizer", "zero"), "");
  EXPECT_EQ(present_value("proposal", "learned"), "");
}

TEST(FormerNames, OfOptionsByName) {
  uint32_t steps = 0;
  std::string normalizer = "zero";
  OptionTable table;
  table.add("steps", &steps, "");
  table.add("normalizer", &normalizer, "").one_of({"zero", "constant"});
  table.set({{"iterations", 7}, {"normalizer", "learned"}});
  EXPECT_EQ(steps, 7u);
  EXPECT_EQ(normalizer, "constant");
  EXPECT_THROW(table.set({{"precision", "double"}}), Error);
}

}  // namespace
}  // namespace selfnorm
