#include "selfnorm/load.h"

#include <gtest/gtest.h>

#include "selfnorm/option_list.h"

namespace selfnorm {
namespace {

TEST(ApiLoad, AFileIsWhatItIs) {
  const std::string path = testing::TempDir() + "api_load";
  const std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EnergyDensity::train({x, 1}, {{"energy", "gaussian"}}).save(path);
  EXPECT_TRUE(std::holds_alternative<EnergyDensity>(load(path)));
  Classifier::train({x, 1}, std::vector<std::string>{"a", "a", "a", "b", "b", "b", "c", "c", "c", "c"})
      .save(path);
  EXPECT_TRUE(std::holds_alternative<Classifier>(load(path)));
  Crf::train(std::vector<AttributeSentence>{{{"x"}, {"y"}}, {{"y"}}}, {{"X", "Y"}, {"Y"}}).save(path);
  EXPECT_TRUE(std::holds_alternative<Crf>(load(path)));
  EXPECT_THROW(load("no such file"), Error);
}

TEST(ApiOptionList, HasNamesDefaultsAndWords) {
  for (const char* table : {"classifier", "lm", "density", "regressor", "crf", "audit", "sample"})
    for (const OptionDescription& option : option_list(table)) {
      EXPECT_FALSE(option.name.empty());
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.type.empty()) << option.name;
    }
  const std::vector<OptionDescription> crf = option_list("crf");
  EXPECT_EQ(crf[0].name, "objective");
  EXPECT_EQ(crf[0].type, "str");
  EXPECT_FALSE(crf[0].choices.empty());
  EXPECT_THROW(option_list("none"), Error);
}

}  // namespace
}  // namespace selfnorm
