// The shapes of the papers, on reduced sizes.
#include "experiments/experiment.h"

#include <gtest/gtest.h>

#include <set>

#include "experiments/reduced_run.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using test::reduced;

std::string text_fact(const Record& record, const std::string& name) {
  for (const auto& [key, value] : record.facts) {
    if (key == name) return std::get<std::string>(value);
  }
  return "";
}

TEST(Experiment, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Experiment& experiment : experiments()) {
    EXPECT_TRUE(names.insert(experiment.name).second);
    EXPECT_EQ(find_experiment(experiment.name).text, experiment.text);
  }
  EXPECT_EQ(names.size(), 15u);
  EXPECT_THROW(find_experiment("fig3"), Error);
}

// Whatever it is, a record says what was expected and found, and can be written and drawn.
void expect_complete(const Record& record) {
  for (const std::string* text :
       {&record.name, &record.title, &record.paper, &record.measured, &record.differences}) {
    EXPECT_FALSE(text->empty()) << record.name;
  }
  EXPECT_FALSE(record.settings.empty()) << record.name;
  EXPECT_FALSE(record.data.rows.empty()) << record.name;
  EXPECT_FALSE(record.tables.empty()) << record.name;
  EXPECT_EQ(record.looks.size(), 1 + record.more_figures.size()) << record.name;
  for (const Panel& panel : record.figure.panels) {
    EXPECT_FALSE(panel.x.label.empty() || panel.y.label.empty()) << record.name;
    EXPECT_FALSE(panel.series.empty()) << record.name;
  }
}

TEST(Experiment, Fig1aSetsAreConvexWithTheNormalisedInputsOnTheirEdge) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const Record record = run_fig1a(reduced("", seed));
    expect_complete(record);
    EXPECT_EQ(record.number("midpoints_outside"), 0);
    EXPECT_EQ(record.number("right_turns"), 0);
    EXPECT_LT(record.number("largest_boundary_log_normalizer"), 1e-12);
    EXPECT_LT(record.number("highest_boundary_midpoint"), 0);
  }
}

TEST(Experiment, Fig1bSetsAreNotConvex) {
  const Record record = run_fig1b(reduced());
  expect_complete(record);
  EXPECT_GT(record.number("least_midpoint_ratio"), 1.2);
  EXPECT_LT(record.number("largest_boundary_error"), 1e-6);
}

TEST(Experiment, Fig2aGapFallsAsTheConstraintIsRelaxed) {
  const Record record = run_fig2a(reduced());
  expect_complete(record);
  EXPECT_GE(record.number("lines"), 5);
  EXPECT_EQ(record.number("lines_that_fall"), record.number("lines"));
}

TEST(Experiment, Fig2bHasTheHumpAndTheMonotoneCase) {
  const Record record = run_fig2b(reduced());
  expect_complete(record);
  EXPECT_EQ(text_fact(record, "shape_0"), "hump");
  EXPECT_EQ(text_fact(record, "shape_1"), "hump");
  EXPECT_EQ(text_fact(record, "shape_2"), "monotone");
}

TEST(Experiment, TableAkDivergesWithoutAnyNormaliserAndNeedsFew) {
  const Record record = run_table_ak(reduced());
  expect_complete(record);
  EXPECT_GT(record.number("growth_gamma_0"), 1.5);
  EXPECT_LT(record.number("growth_gamma_0.1"), 1.1);
  EXPECT_GT(record.number("mean_abs_log_z_gamma_0"), 10 * record.number("mean_abs_log_z_gamma_1"));
  EXPECT_NEAR(record.number("nll_gamma_0.1"), record.number("nll_gamma_1"), 0.05);
  EXPECT_NEAR(record.number("nll_gamma_0.01"), record.number("nll_gamma_1"), 0.1);
  EXPECT_LT(record.number("nll_gamma_0.001"), record.number("nll_gamma_0"));
  EXPECT_NEAR(record.number("cost_ratio_gamma_0.1"), 0.1, 1e-9);
  // A settles near 1 / (2 alpha).
  EXPECT_NEAR(record.number("mean_abs_log_z_gamma_1"), 0.5, 0.1);
  EXPECT_GT(record.number("mean_abs_log_z_alpha_0.01"), 1);
  EXPECT_LT(record.number("mean_abs_log_z_alpha_10"), 0.1);
}

TEST(Experiment, Theorem4FailsInTwoDimensionsForThePaperAlone) {
  const Record record = run_theorem4(reduced());
  expect_complete(record);
  EXPECT_EQ(text_fact(record, "dimensions_where_eta0_fails"), "2");
  EXPECT_EQ(text_fact(record, "dimensions_where_xor_fails"), "none");
  EXPECT_LT(record.number("largest_reference_error"), 1e-4);
}

TEST(Experiment, OpenQuestionsFindNoViolationOfTheorem2) {
  const Record record = run_open_questions(reduced());
  expect_complete(record);
  EXPECT_GT(record.number("smallest_bound_to_gap"), 0.9999);
  EXPECT_LT(record.number("smallest_bound_to_gap"), 1.1);
  EXPECT_GT(record.number("stability_xor_at_0.1"), 0.8);
  EXPECT_LT(record.number("stability_xor_random_direction"), 0.5);
  EXPECT_LT(record.number("hardness_full_rank"), record.number("hardness_lowest_rank"));
}

TEST(Experiment, NumbersDoNotDependOnTheNumberOfThreads) {
  const auto run = [](int threads) {
    ExperimentOptions options = reduced();
    options.threads = threads;
    return csv_text(run_open_questions(options).data) + csv_text(run_fig2a(options).data);
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Experiment, ReportsProgressToTheEnd) {
  for (const char* name : {"fig1a", "fig1b", "theorem4"}) {
    double last = 0;
    ExperimentOptions options = reduced();
    options.progress = [&](double share) {
      EXPECT_GE(share, last);
      last = share;
    };
    find_experiment(name).run(options);
    EXPECT_EQ(last, 1) << name;
  }
}

}  // namespace
}  // namespace selfnorm
