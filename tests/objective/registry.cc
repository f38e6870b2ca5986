// Every registered objective of log Z goes through one gradient check, and every one in the source tree is
// registered.
#include "objective/registry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "gradient_check.h"
#include "objective/exact.h"
#include "selfnorm/error.h"
#include "source_dir.h"

namespace selfnorm {
namespace {

class EveryObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryObjective, DerivativesAgreeWithDifferences) {
  ObjectiveOptions options;
  options.name = GetParam();
  options.alpha = 0.7;
  options.gamma = 0.4;
  const auto objective = make_objective(options);
  for (const bool normalised : {true, false}) {
    if (!normalised && objective->normalised_fraction() == 1) continue;
    for (const std::vector<double>& at :
         std::vector<std::vector<double>>{{0, 0, 0}, {-3, 0.5, 0.1}, {2, -4, 1}, {-50, 30, 0}}) {
      const auto loss = [&](const std::vector<double>& v) {
        const LossTerms t = (*objective)({v[0], v[1], v[2], 0.4, normalised});
        return t.likelihood + t.penalty;
      };
      const LossTerms t = (*objective)({at[0], at[1], at[2], 0.4, normalised});
      expect_gradient(loss, at, {t.d_score, t.d_log_z, t.d_centre});
    }
  }
}

TEST_P(EveryObjective, PenaltyIsZeroWhenNormalisedAndNeverNegative) {
  ObjectiveOptions options;
  options.name = GetParam();
  const auto objective = make_objective(options);
  EXPECT_EQ((*objective)({-1, 0, 0, 1, true}).penalty, 0);
  EXPECT_TRUE(rc::check("penalty >= 0", [&](int16_t a, int16_t c) {
    RC_ASSERT((*objective)({0, a / 100.0, c / 100.0, 1, true}).penalty >= 0);
  }));
}

TEST_P(EveryObjective, NaNIsNotHidden) {
  ObjectiveOptions options;
  options.name = GetParam();
  const LossTerms t = (*make_objective(options))({std::nan(""), 1, 0, 1, true});
  EXPECT_TRUE(std::isnan(t.likelihood + t.penalty));
}

INSTANTIATE_TEST_SUITE_P(All, EveryObjective, testing::ValuesIn(objective_names()));

std::string source_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// An entry that a header declares and no line registers would escape the checks above.
TEST(Registry, EveryEntryInTheSourcesIsRegistered) {
  const std::filesystem::path root = SELFNORM_SOURCE_DIR;
  const std::string registry = source_text(root / "src/objective/registry.cc");
  const std::regex declared(R"(ObjectiveEntry (\w+_entry)\(\);)");
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "src/objective")) {
    const std::string source = source_text(entry.path());
    for (std::sregex_iterator it(source.begin(), source.end(), declared), end; it != end; ++it, ++found)
      EXPECT_NE(registry.find("      " + (*it)[1].str() + "(),\n"), std::string::npos)
          << (*it)[1] << " of " << entry.path() << " is not in src/objective/registry.cc";
  }
  EXPECT_GE(found, 12);
}

TEST(Registry, TraitsAgreeWithWhatObjectivesDo) {
  for (const ObjectiveEntry& entry : all_objectives()) {
    SCOPED_TRACE(entry.name);
    EXPECT_FALSE(entry.text.empty());
    EXPECT_FALSE(entry.offers.empty());
    EXPECT_EQ(entry.make != nullptr, entry.seam == ObjectiveSeam::log_z);
    EXPECT_EQ(entry.make_candidate != nullptr, entry.seam == ObjectiveSeam::candidates);
    EXPECT_FALSE(entry.uses_normalizer && entry.leaves_level);
  }
}

TEST(Registry, OptionsBelongToTheObjectivesThatReadThem) {
  double noise = 0.1, rate = 1;
  OptionTable table;
  table.add("noise", &noise, "Noise");
  table.add("rate", &rate, "Rate");
  limit_to_objective("density", "snl", table);
  EXPECT_EQ(table.find("noise")->owner, "objective dsm");
  EXPECT_EQ(table.find("noise")->found, "objective snl");
  EXPECT_EQ(table.find("noise")->help(), "dsm: Noise");
  EXPECT_TRUE(table.find("rate")->owner.empty());
}

// One of a program's own is offered and described where its offers say, like any other.
TEST(Registry, AnObjectiveOfOnesOwn) {
  const size_t before = all_objectives().size();
  register_objective({.name = "own",
                      .text = "twice -log p",
                      .seam = ObjectiveSeam::log_z,
                      .offers = {{"classifier", {"alpha"}}},
                      .make = [](const ObjectiveOptions&) { return std::make_unique<Exact>(); }});
  EXPECT_EQ(all_objectives().size(), before + 1);
  EXPECT_EQ(objective_names("classifier").back(), "own");
  EXPECT_NE(objective_help("classifier").find("own: twice -log p"), std::string::npos);
  EXPECT_FALSE(objective_entry("own").is_offered_by("crf"));
  EXPECT_EQ((*make_objective({.name = "own"}))({-1, 2, 0, 1, true}).likelihood, 3);
}

TEST(Registry, UnknownNamesAndBadValuesAreUserErrors) {
  EXPECT_THROW(make_objective({.name = "softmax"}), Error);
  EXPECT_THROW(make_objective({.name = "penalty", .alpha = -1}), Error);
  EXPECT_THROW(make_objective({.name = "penalty", .alpha = std::nan("")}), Error);
  EXPECT_THROW(make_objective({.name = "sampled", .alpha = 0}), Error);
  EXPECT_THROW(make_objective({.name = "constraint", .delta = 0}), Error);
  EXPECT_THROW(make_objective({.name = "sampled", .gamma = 1.5}), Error);
}

// The share of `sampled`, rounded, and at least one unless there is none: the same for every model.
TEST(Objective, TheNormalisedShareOfABatchIsRounded) {
  const auto normalised = [](double gamma, uint64_t examples) {
    return make_objective({.name = "sampled", .gamma = gamma})->normalised(examples);
  };
  EXPECT_EQ(normalised(0.1, 14), 1u);
  EXPECT_EQ(normalised(0.1, 16), 2u);
  EXPECT_EQ(normalised(0.1, 15), 2u);
  EXPECT_EQ(normalised(0.01, 3), 1u);
  EXPECT_EQ(normalised(0, 1000), 0u);
  EXPECT_EQ(normalised(1, 7), 7u);
  EXPECT_EQ(make_objective({.name = "penalty"})->normalised(9), 9u);
}

}  // namespace
}  // namespace selfnorm
