// The experiments of regression, on reduced sizes and generated data: what they say has to follow from their
// numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/toy/generate.h"
#include "experiments/document.h"
#include "experiments/experiment.h"
#include "experiments/reduced_run.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using test::column;
using test::holds;
using test::reduced;

// Both tasks, drawn from the truth of the first.
void write_tasks(const Scratch& folder) {
  std::filesystem::create_directories(folder / "ebm-1d");
  const auto task = make_regression_task("task1");
  for (const auto& [name, rows] : {std::pair{"dataset1_train", 200},
                                   {"dataset2_train", 150},
                                   {"dataset2_val", 30},
                                   {"dataset2_test", 60}})
    write_frame(sample_regression(*task, static_cast<uint64_t>(rows), static_cast<uint64_t>(rows)),
                folder / (std::string("ebm-1d/") + name + ".csv"));
}

// y = 2 x0 + (0.2 + |x0|) z of 300 rows, two splits.
void write_table(const Scratch& folder, const std::string& name) {
  const std::string path = folder / ("uci-regression/" + name);
  std::filesystem::create_directories(path);
  RandomStream random(7);
  std::ofstream data(path + "/data.txt");
  for (int i = 0; i < 300; ++i) {
    const double x = random.normal();
    data << x << " " << random.normal() << " " << 2 * x + (0.2 + std::abs(x)) * random.normal() << "\n";
  }
  std::ofstream(path + "/index_features.txt") << "0\n1\n";
  std::ofstream(path + "/index_target.txt") << "2\n";
  std::ofstream(path + "/n_splits.txt") << "2\n";
  for (int k = 0; k < 2; ++k) {
    std::ofstream train(path + "/index_train_" + std::to_string(k) + ".txt"),
        test(path + "/index_test_" + std::to_string(k) + ".txt");
    for (int i = 0; i < 300; ++i) (i % 10 == k ? test : train) << i << "\n";
  }
}

TEST(RegressionExperiments, TasksJudgeEveryTargetByItsNumbers) {
  const Scratch folder;
  write_tasks(folder);
  double last = 0;
  ExperimentOptions options = reduced(folder / "");
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  const Record record = run_regression_tasks(options);
  EXPECT_EQ(last, 1);
  EXPECT_EQ(record.number("tasks"), 2);
  const Table& judged = record.tables[0];
  EXPECT_EQ(judged.rows.size(), 12u);
  EXPECT_EQ(record.number("targets_met"),
            static_cast<double>(std::count_if(judged.rows.begin(), judged.rows.end(), [](const auto& row) {
              return std::get<std::string>(row[3]) == "MET";
            })));
  EXPECT_EQ(std::get<std::string>(judged.rows[0][3]), record.number("snl_task1") <= 0.025 ? "MET" : "MISSED");
  EXPECT_EQ(std::get<std::string>(judged.rows[6][3]), record.number("snl_task2") <= 1.45 ? "MET" : "MISSED");
  // Eleven entries of two seeds in both tasks; a divergence is not negative.
  EXPECT_EQ(record.data.rows.size(), 44u);
  const size_t task = column(record.data, "task"), measure = column(record.data, "measure"),
               whole = column(record.data, "measure_whole");
  for (const auto& row : record.data.rows) {
    EXPECT_TRUE(std::isfinite(std::get<double>(row[measure])));
    EXPECT_LE(std::get<double>(row[measure]), std::get<double>(row[whole]) + 1e-3);
    if (std::get<std::string>(row[task]) == "task 1") {
      EXPECT_GT(std::get<double>(row[measure]), 0);
    }
  }
  // The last fit of b leaves the density alone.
  const size_t objective = column(record.data, "objective"), b_rms = column(record.data, "b_rms");
  for (const auto& row : record.data.rows) {
    if (std::get<std::string>(row[objective]) == "mdn") {
      EXPECT_EQ(std::get<double>(row[column(record.data, "tilted")]), 0);
    }
  }
  const auto &fitted = record.data.rows[0], &learned = record.data.rows[2];
  EXPECT_EQ(std::get<std::string>(fitted[objective]), "snl");
  EXPECT_EQ(std::get<std::string>(learned[objective]), "snl, b as learned");
  EXPECT_EQ(std::get<double>(fitted[measure]), std::get<double>(learned[measure]));
  EXPECT_NE(std::get<double>(fitted[b_rms]), std::get<double>(learned[b_rms]));
  EXPECT_EQ(record.more_figures[0].second.panels.size(), 3u);
  EXPECT_EQ(record.looks.size(), 1 + record.more_figures.size());
  const std::string page = document_section(record, "f", "regression");
  EXPECT_TRUE(holds(page, "regression-tasks-densities.svg"));
  EXPECT_FALSE(holds(page, "NOT MEASURED"));
  const std::string rule =
      "at most two of its standard errors or one standard error of the mean of snl, whichever is larger";
  EXPECT_TRUE(holds(record.paper, rule));
  EXPECT_TRUE(holds(judged.caption, rule));
}

TEST(RegressionExperiments, TargetsWithoutANumberAreMissed) {
  const Scratch folder;
  write_tasks(folder);
  std::filesystem::remove(folder / "ebm-1d/dataset1_train.csv");
  ExperimentOptions options = reduced(folder / "");
  options.cells = folder / "x.cells.jsonl";
  const Record finite = run_regression_tasks(options);
  std::ifstream in(options.cells);
  std::string line, failed;
  while (std::getline(in, line)) {
    nlohmann::json cell = nlohmann::json::parse(line);
    for (const char* name : {"measure", "measure_whole", "b_rms"}) cell["numbers"][name] = nullptr;
    failed += cell.dump() + "\n";
  }
  std::ofstream(options.cells) << failed;
  const Record record = run_regression_tasks(options);
  EXPECT_EQ(record.number("targets_met"), 0);
  ASSERT_EQ(record.tables[0].rows.size(), 6u);
  EXPECT_EQ(std::get<std::string>(record.tables[0].rows[5][2]), "no finite value");
  // Of finite numbers: NLL - that of the truth + 2 standard errors over the test rows, the lowest.
  double lowest = INFINITY;
  const size_t whole = column(finite.data, "measure_whole"), error = column(finite.data, "nll_error");
  for (const auto& row : finite.data.rows)
    lowest = std::min(lowest, std::get<double>(row[whole]) - 1.2387 + 2 * std::get<double>(row[error]));
  EXPECT_DOUBLE_EQ(finite.number("lowest_above_truth_task2"), lowest);
  EXPECT_EQ(std::get<std::string>(finite.tables[0].rows[5][3]), lowest >= 0 ? "MET" : "MISSED");
}

TEST(RegressionExperiments, TablesAreMeasuredWhereTheyAre) {
  const Scratch folder;
  write_table(folder, "yacht");
  const Record record = run_regression_uci(reduced(folder / ""));
  EXPECT_EQ(record.number("tables"), 1);
  EXPECT_TRUE(holds(record.measured, "NOT MEASURED: boston, concrete, energy, kin8nm, power, protein"));
  EXPECT_EQ(record.data.rows.size(), 8u);  // four models, two splits
  const size_t nll = column(record.data, "nll"), crps = column(record.data, "crps"),
               rmse = column(record.data, "rmse");
  for (const auto& row : record.data.rows) {
    EXPECT_TRUE(std::isfinite(std::get<double>(row[nll])));
    EXPECT_LT(std::get<double>(row[crps]), std::get<double>(row[rmse]));
  }
  EXPECT_EQ(record.number("deep_ensembles_lost") + record.number("deep_ensembles_tied") +
                record.number("deep_ensembles_won"),
            1);
  EXPECT_EQ(record.tables.size(), 4u);
  EXPECT_TRUE(holds(document_section(record, "f", "regression"), "| yacht | linear |"));
  for (const size_t outcomes : {0, 1})
    EXPECT_TRUE(holds(record.tables[outcomes].caption, "splits share rows, yet these standard errors"));
  column(record.tables[2], "first member tilted");
}

TEST(RegressionExperiments, TimesOfTablesAreSumsAndTheClockIsCalledAnEstimate) {
  const Scratch folder;
  write_table(folder, "yacht");
  write_table(folder, "protein-tertiary-structure");  // not in time
  const Record record = run_regression_uci(reduced(folder / ""));
  double all = 0, in_time = 0;
  const size_t seconds = column(record.data, "all_seconds");
  for (const auto& row : record.data.rows) {
    const double own = std::get<double>(row[seconds]);
    all += own;
    if (std::get<std::string>(row[0]) == "yacht") in_time += own;
  }
  EXPECT_GT(in_time, 0);
  EXPECT_GT(all, in_time);
  EXPECT_NEAR(record.number("processor_seconds"), all, 1e-9 * all);
  EXPECT_NEAR(record.number("processor_seconds_in_time"), in_time, 1e-9 * all);
  EXPECT_GT(record.number("estimated_clock_minutes"), 0);
  EXPECT_TRUE(holds(record.measured, "minutes estimated from the clock of each training"));
  EXPECT_FALSE(holds(record.measured, "by the clock"));
  const auto& last = record.tables[3].rows.back();
  EXPECT_EQ(std::get<std::string>(last[0]), "all");
  EXPECT_EQ(std::get<double>(last[column(record.tables[3], "processor seconds")]),
            record.number("processor_seconds"));
}

TEST(RegressionExperiments, FinishedTrainingsAreNotRepeated) {
  const Scratch folder;
  write_table(folder, "yacht");
  ExperimentOptions options = reduced(folder / "");
  options.cells = folder / "x.cells.jsonl";
  const std::string first = csv_text(run_regression_uci(options).data);
  const auto size = std::filesystem::file_size(options.cells);
  EXPECT_EQ(csv_text(run_regression_uci(options).data), first);  // the seconds as well
  EXPECT_EQ(std::filesystem::file_size(options.cells), size);
  options.seed = 2;
  EXPECT_NE(csv_text(run_regression_uci(options).data), first);
}

TEST(RegressionExperiments, NumbersAndTheOrderOfCellsDoNotDependOnTheNumberOfThreads) {
  const Scratch folder;
  write_table(folder, "yacht");
  const auto run = [&](int threads) {
    ExperimentOptions options = reduced(folder / "");
    options.threads = threads;
    options.cells = folder / ("threads-" + std::to_string(threads));
    Table data = run_regression_uci(options).data;
    const size_t seconds = column(data, "seconds");
    for (auto& row : data.rows) row.resize(seconds);
    data.columns.resize(seconds);
    std::string keys, line;
    std::ifstream cells(options.cells);
    while (std::getline(cells, line)) keys += line.substr(0, line.find("\"numbers\"")) + "\n";
    return csv_text(data) + keys;
  };
  EXPECT_EQ(run(1), run(3));
}

TEST(RegressionExperiments, AnErrorEndsTheTrainingsThatRun) {
  const Scratch folder;
  write_table(folder, "yacht");
  ExperimentOptions options = reduced(folder / "");
  options.threads = 2;
  options.cells = folder / "no/such/folder";  // the first cell cannot be written
  EXPECT_THROW(run_regression_uci(options), Error);
}

TEST(RegressionExperiments, TablesThatCannotBeTrainedOnAreErrors) {
  const Scratch folder;
  write_table(folder, "yacht");
  std::ofstream(folder / "uci-regression/yacht/index_train_1.txt") << "3\n";  // one row
  EXPECT_THROW(run_regression_uci(reduced(folder / "")), Error);
}

TEST(RegressionExperiments, DataThatAreNotThereAreSaidToBeMissing) {
  const Record tasks = run_regression_tasks(reduced("")), uci = run_regression_uci(reduced("nowhere"));
  EXPECT_TRUE(holds(tasks.measured, "NOT MEASURED: task 1, task 2"));
  EXPECT_TRUE(holds(uci.measured, "NOT MEASURED: boston, concrete, energy, kin8nm, power, yacht, protein"));
  for (const Record& record : {tasks, uci}) {
    const std::string page = document_section(record, "f", "regression");
    EXPECT_TRUE(holds(page, "NOT MEASURED"));
    EXPECT_FALSE(holds(page, ".svg"));
  }
  const Scratch folder;
  write_tasks(folder);
  std::filesystem::remove(folder / "ebm-1d/dataset2_val.csv");
  EXPECT_TRUE(holds(run_regression_tasks(reduced(folder / "")).measured, "NOT MEASURED: task 2"));
}

}  // namespace
}  // namespace selfnorm
