#include "base/option_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/failure.h"

namespace selfnorm {
namespace {

struct Options {
  double rate = 0.5;
  uint64_t steps = 10;
  bool calibrate = true, residual = false;
  std::string space = "auto";
  std::optional<double> centre;
  std::vector<uint32_t> widths = {64, 64};
  std::vector<double> lower;
};

OptionTable table_of(Options& o) {
  OptionTable table;
  table.add("learning-rate", &o.rate, "Step size").above(0).below(2);
  table.add("steps", &o.steps, "Minibatches").at_least(1);
  table.add("calibrate", &o.calibrate, "On").off_text = "Off";
  table.add("residual", &o.residual, "Adds")
      .only(o.space != "none", option_text("space", "real"), option_text("space", o.space));
  table.add("space", &o.space, "Numbers").one_of({"auto", "real", "none"});
  table.add("centre", &o.centre, "c").in(-1, 1);
  table.add("widths", &o.widths, "Layers").in(1, 4096);
  table.add("lower", &o.lower, "Ends");
  return table;
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptionTable, RangesAreWrittenAndChecked) {
  Options o;
  EXPECT_NO_THROW(table_of(o).validate());
  EXPECT_EQ(table_of(o).find("learning-rate")->help(), "Step size; > 0, < 2");
  EXPECT_EQ(table_of(o).find("steps")->range(), ">= 1");
  EXPECT_EQ(table_of(o).find("widths")->range(), "1..4096");
  const auto error = [](auto change) {
    Options bad;
    change(bad);
    return error_of([&] { table_of(bad).validate(); });
  };
  EXPECT_EQ(error([](Options& b) { b.rate = 2; }), "learning-rate = 2 is out of range; expected > 0, < 2");
  EXPECT_EQ(error([](Options& b) { b.steps = 0; }), "steps = 0 is out of range; expected >= 1");
  EXPECT_EQ(error([](Options& b) { b.space = "x"; }),
            "space 'x' is not known; expected one of auto, real, none");
  EXPECT_EQ(error([](Options& b) { b.centre = 3; }), "centre = 3 is out of range; expected -1..1");
  EXPECT_EQ(error([](Options& b) { b.widths = {0}; }), "widths = 0 is out of range; expected 1..4096");
  EXPECT_EQ(error([](Options& b) { b.lower = {std::nan("")}; }), "lower has to be numbers");
  EXPECT_NE(error([](Options& b) { b.rate = std::nan(""); }), "");
}

TEST(OptionTable, ListsHaveRangesAndFlagsNamesOfTheirOwn) {
  Options o;
  OptionTable table;
  table.add("levels", &o.lower, "Levels").above(0).below(1);
  table.add("precision", &o.rate, "Error").in(1e-7, 1).short_form("-p");
  table.add("lowercase", &o.calibrate, "On").off("keep-case", "Off").only(false, "text", "csv");
  table.of("lm");
  EXPECT_EQ(table.find("precision")->help(), "Error; 1e-7..1");
  EXPECT_EQ(table.find("precision")->letter, "-p");
  EXPECT_EQ(table.find("lowercase")->off_flag(), "keep-case");
  EXPECT_EQ(table.find("levels")->families, "lm");
  EXPECT_NO_THROW(table.validate());  // of an empty list
  o.lower = {0.5, 1};
  EXPECT_EQ(error_of([&] { table.validate(); }), "levels = 1 is out of range; expected > 0, < 1");
  Options off;
  off.calibrate = false;
  OptionTable given;
  given.add("lowercase", &off.calibrate, "On").off("keep-case", "Off").only(false, "text", "csv");
  OptionTable initial;
  initial.add("lowercase", &o.calibrate, "On");
  EXPECT_EQ(error_of([&] { given.refuse_idle(initial); }),
            "keep-case belongs to text, found csv; leave it out or change that");
}

TEST(OptionTable, OptionsThatDoNothingAreRefused) {
  Options initial, given;
  given.space = "none";
  EXPECT_NO_THROW(table_of(given).refuse_idle(table_of(initial)));  // not given
  given.residual = true;
  const auto error = [&] { return error_of([&] { table_of(given).refuse_idle(table_of(initial)); }); };
  EXPECT_EQ(error(), "residual belongs to space real, found space none; leave it out or change that");
  name_options_as(OptionStyle::flag);
  EXPECT_EQ(error(), "--residual belongs to --space real, found --space none; leave it out or change that");
  name_options_as(OptionStyle::keyword);
  EXPECT_EQ(error(), "residual belongs to space=real, found space=none; leave it out or change that");
  EXPECT_EQ(option_name("learning-rate"), "learning_rate");
  EXPECT_EQ(with_options("use `device cpu`, `min-count` or `x`y"), "use device=cpu, min_count or xy");
  EXPECT_EQ(worded("`data {}`: {}", "a b", "`c`"), "data=a b: `c`");  // options of the message alone
  name_options_as(OptionStyle::plain);
}

TEST(OptionTable, FingerprintsHaveWhatShapesTheResult) {
  Options a, b;
  EXPECT_EQ(table_of(a).fingerprint(), table_of(b).fingerprint());
  b.rate = std::nextafter(a.rate, 1);
  EXPECT_NE(table_of(a).fingerprint(), table_of(b).fingerprint());
  EXPECT_NE(table_of(a).fingerprint().find("centre=auto\nwidths=64,64\n"), std::string::npos);
}

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
